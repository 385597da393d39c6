#!/usr/bin/env bash
# One short iteration of most benchmarks, because those that nobody runs rot. The figures of these sizes mean nothing.
#   bin/bench short
# BENCH_BIN may be a debug build: bin/test has one from the tests.
source "$(dirname "$0")/lib/bench.sh"

options "" "$@"
build lamplighter SendBenchmark ExpandBenchmark
export BENCH_BIN=$bin
bin/bench send --requests 1000 --runs 1 --in-flight 100
bin/bench dead --requests 1000 --runs 1 --shares 0.05 --streams 100
bin/bench expand --tokens 10000 --runs 1
bin/bench whole --sizes "1 1000" --runs 1 --sent 2000
bin/bench latency --tokens 10000 --count 20
bin/bench silent --tokens 1000 --shares 20 --pushes 2 --every-ms 1300 --transports nghttp2
bin/bench accept --count 1000 --runs 1 --names 200
bin/bench register --bulk 5000 --count 300 --runs 1 --storm 500
bin/bench idle --seconds 2 --runs 1 --apps 2 --settle 1
bin/bench small --count 200 --runs 1 --publishers 8 --names 100 --jobs no --kinds no
bin/bench platforms --ios 500 --android 1000 --updates 1
bin/bench ask --names 500 --pushes 500 --count 5
bin/bench console --names 500 --pushes 500 --asks 2 --rates 20 --seconds 1 --runs 1
bin/bench backup --followers 3000 --names 100
bin/bench cluster --count 200 --names 100
