#!/usr/bin/env bash
# One short iteration of most benchmarks, because those that nobody runs rot. The figures of these sizes mean nothing.
#   bin/bench short
# BENCH_BIN may be a debug build: .ci/run has one from the tests.
source "$(dirname "$0")/lib/bench.sh"

options "" "$@"
build lamplighter SendBenchmark ExpandBenchmark
export BENCH_BIN=$bin
bin/bench send --requests 5000 --runs 1 --in-flight 100
bin/bench dead --requests 2000 --runs 1 --shares 0.05 --streams 100
bin/bench expand --tokens 20000 --runs 1
bin/bench whole --sizes "1 1000 10000" --runs 1 --sent 10000
bin/bench latency --tokens 50000 --count 50
bin/bench silent --tokens 1000 --pushes 2 --transports nghttp2
bin/bench accept --count 3000 --runs 1 --names 500
bin/bench register --bulk 20000 --count 1000 --runs 1 --storm 2000
bin/bench idle --seconds 2 --runs 1
bin/bench small --count 500 --runs 1 --names 200 --jobs no
bin/bench ask --names 2000 --pushes 2000 --count 10
bin/bench console --names 2000 --pushes 2000 --asks 5 --rates 50 --seconds 1 --runs 1
bin/bench backup --followers 3000 --names 100
bin/bench cluster --count 300 --names 100
