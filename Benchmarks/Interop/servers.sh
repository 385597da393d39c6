#!/usr/bin/env bash
# Sourced by Benchmarks/interop.sh: how to find, install and start each server. `serve_NAME` listens at $server_port with $work/server.pem
# and $work/server.key. It answers 200, or what `deliver --rejects` expects; `rejects=()` where a server answers every request alike.
all_servers=(nginx apache haproxy h2o nghttpd nghttpx caddy varnish lighttpd node netty jetty hypercorn granian daphne envoy)

rejected='^/3/device/0[0-7]' bad='^/3/device/08'
gone_body='{"reason":"Unregistered","timestamp":1795276800000}' bad_body='{"reason":"BadDeviceToken"}'

declare -A packages=([nginx]=nginx [apache]=apache2 [haproxy]=haproxy [h2o]=h2o [nghttpd]=nghttp2-server [nghttpx]="nghttp2-proxy nginx"
    [caddy]=caddy [varnish]="hitch varnish" [lighttpd]="lighttpd lighttpd-mod-openssl nginx" [node]=nodejs
    [netty]="libnetty-java default-jdk-headless" [jetty]="libjetty9-java libservlet-api-java default-jdk-headless")
declare -A wheels=([hypercorn]=hypercorn [granian]=granian [daphne]="daphne twisted[tls,http2]")

has_nginx() { command -v nginx >/dev/null; }
has_apache() { command -v apache2 >/dev/null; }
has_haproxy() { command -v haproxy >/dev/null; }
has_h2o() { command -v h2o >/dev/null; }
has_nghttpd() { command -v nghttpd >/dev/null; }
has_nghttpx() { command -v nghttpx >/dev/null && has_nginx; }
has_caddy() { command -v caddy >/dev/null; }
has_varnish() { command -v hitch >/dev/null && command -v varnishd >/dev/null; }
has_lighttpd() { [ -e /usr/lib/lighttpd/mod_openssl.so ] && has_nginx; }
has_node() { command -v node >/dev/null; }
has_netty() { command -v javac >/dev/null && ls /usr/share/java/netty-codec-http2*.jar >/dev/null 2>&1; }
has_jetty() { command -v javac >/dev/null && ls /usr/share/java/jetty9-http2-server*.jar >/dev/null 2>&1; }
has_hypercorn() { [ -x "$venv/hypercorn" ]; }
has_granian() { [ -x "$venv/granian" ]; }
has_daphne() { [ -x "$venv/daphne" ]; }
has_envoy() { command -v envoy >/dev/null; }

venv="$PWD/.build/interop/bin"

# install_servers NAME…: Debian's packages without starting their services, and Python's servers into .build/interop.
install_servers() {
    local name debian=() python=()
    for name in "$@"; do
        if "has_$name"; then continue; fi
        read -r -a more <<<"${packages[$name]:-}"
        debian+=("${more[@]}")
        read -r -a more <<<"${wheels[$name]:-}"
        python+=("${more[@]}")
    done
    [ ${#debian[@]} = 0 ] || bin/setup --also "${debian[*]}"
    [ ${#python[@]} = 0 ] && return
    python3 -m venv "${venv%/bin}" >"$work/venv.log" 2>&1 || fail "no virtual environment for Python"
    "$venv/pip" install -q "${python[@]}" >"$work/pip.log" 2>&1 || fail "PyPI does not answer"
}

# An authority and a server certificate for 127.0.0.1, as files in $work.
certificate() {
    (
        cd "$work"
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=interop \
            -keyout ca.key -out ca.pem
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=127.0.0.1 -keyout server.key -out server.csr
        printf 'subjectAltName=IP:127.0.0.1,DNS:localhost\n' >extensions
        openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile extensions -out server.pem
        cat server.pem server.key >both.pem
        openssl pkcs12 -export -in server.pem -inkey server.key -passout pass:interop -out server.p12
        chmod 644 server.key both.pem
    ) >"$work/certificate.log" 2>&1 || fail "no certificate"
}

free_port() { python3 Tests/Scripts/free_port.py; }
answers_http2() {
    [ "$(curl -s --http2 -o /dev/null -w '%{http_version}' --cacert "$work/ca.pem" -d x "https://127.0.0.1:$server_port/3/device/ff")" = 2 ]
}
stop_servers() {
    local index
    for ((index = ${#processes[@]} - 1; index >= 0; index--)); do
        kill -TERM "${processes[index]}" 2>/dev/null || true
        wait "${processes[index]}" 2>/dev/null || true
    done
    processes=()
}

# nginx_at PORT OPTIONS: the answers, with TLS or behind a proxy.
nginx_at() {
    mkdir -p "$work/nginx"
    cat >"$work/nginx.conf" <<EOF
daemon off; master_process off; pid $work/nginx/pid; error_log stderr error;
events { worker_connections 2048; }
http {
    access_log off; default_type application/json; keepalive_requests 10000000;
    client_body_temp_path $work/nginx; proxy_temp_path $work/nginx; fastcgi_temp_path $work/nginx; uwsgi_temp_path $work/nginx;
    scgi_temp_path $work/nginx;
    server {
        listen 127.0.0.1:$1 $2;
        ssl_certificate $work/server.pem; ssl_certificate_key $work/server.key;
        location ~ $rejected { return 410 '$gone_body'; }
        location ~ $bad { return 400 '$bad_body'; }
        location / { return 200 ''; }
    }
}
EOF
    start nginx nginx -c "$work/nginx.conf" -p "$work/nginx"
}
# A plain nginx that a proxy sends to; sets $behind.
start_behind() {
    behind=$(free_port)
    nginx_at "$behind" ''
}

serve_nginx() { nginx_at "$server_port" 'ssl http2'; }

serve_apache() {
    local modules=/usr/lib/apache2/modules module
    mkdir -p "$work/apache"
    {
        for module in mpm_event authz_core ssl http2 rewrite; do
            echo "LoadModule ${module}_module $modules/mod_$module.so"
        done
        [ "$(id -u)" != 0 ] || printf 'User nobody\nGroup nogroup\n'
        cat <<EOF
ServerRoot $work/apache
ServerName localhost
PidFile $work/apache/pid
ErrorLog /dev/stderr
LogLevel error
Listen 127.0.0.1:$server_port
Protocols h2
MaxKeepAliveRequests 0
SSLEngine on
SSLCertificateFile $work/server.pem
SSLCertificateKeyFile $work/server.key
DocumentRoot $work/apache
ErrorDocument 410 '$gone_body'
ErrorDocument 400 '$bad_body'
RewriteEngine on
RewriteRule $rejected - [R=410,L]
RewriteRule $bad - [R=400,L]
RewriteRule ^ - [R=200,L]
EOF
    } >"$work/apache.conf"
    start apache apache2 -f "$work/apache.conf" -DFOREGROUND
}

serve_haproxy() {
    cat >"$work/haproxy.cfg" <<EOF
global
    log stderr format raw local0 err
defaults
    mode http
    timeout client 60s
    timeout server 60s
    timeout connect 5s
frontend apns
    bind 127.0.0.1:$server_port ssl crt $work/both.pem alpn h2
    http-request wait-for-body time 10s
    http-request return status 410 content-type application/json string '$gone_body' if { path_reg $rejected }
    http-request return status 400 content-type application/json string '$bad_body' if { path_reg $bad }
    http-request return status 200
EOF
    start haproxy haproxy -db -f "$work/haproxy.cfg"
}

serve_h2o() {
    cat >"$work/h2o.yaml" <<EOF
user: $(id -un)
pid-file: $work/h2o.pid
error-log: $work/h2o.errors
num-threads: 1
listen: {host: 127.0.0.1, port: $server_port, ssl: {certificate-file: $work/server.pem, key-file: $work/server.key}}
hosts:
  default:
    paths:
      "/":
        mruby.handler: |
          Proc.new do |env|
            case env["PATH_INFO"]
            when %r{$rejected} then [410, {}, ['$gone_body']]
            when %r{$bad} then [400, {}, ['$bad_body']]
            else [200, {}, []]
            end
          end
EOF
    start h2o h2o -c "$work/h2o.yaml"
}

# It can only send each request's body back.
serve_nghttpd() {
    rejects=()
    start nghttpd nghttpd --echo-upload --address 127.0.0.1 "$server_port" "$work/server.key" "$work/server.pem"
}

serve_nghttpx() {
    start_behind
    start nghttpx nghttpx --conf=/dev/null --frontend="127.0.0.1,$server_port" --backend="127.0.0.1,$behind" --workers=1 \
        --accesslog-file=/dev/null --errorlog-file=/dev/stderr --log-level=ERROR "$work/server.key" "$work/server.pem"
}

serve_caddy() {
    cat >"$work/Caddyfile" <<EOF
{
    admin off
    auto_https off
    log {
        level ERROR
    }
}
https://127.0.0.1:$server_port {
    tls $work/server.pem $work/server.key
    @gone path_regexp $rejected
    @bad path_regexp $bad
    respond @gone \`$gone_body\` 410
    respond @bad \`$bad_body\` 400
    respond "" 200
}
EOF
    HOME=$work start caddy caddy run --config "$work/Caddyfile" --adapter caddyfile
}

serve_varnish() {
    behind=$(free_port)
    # Its compiler runs as a user of its own.
    chmod 711 "$work"
    cat >"$work/varnish.vcl" <<EOF
vcl 4.1;
backend none none;
sub vcl_recv {
    if (req.url ~ "$rejected") { return (synth(410)); }
    if (req.url ~ "$bad") { return (synth(400)); }
    return (synth(200));
}
sub vcl_synth {
    if (resp.status == 410) { set resp.body = """$gone_body"""; }
    elsif (resp.status == 400) { set resp.body = """$bad_body"""; }
    else { set resp.body = ""; }
    return (deliver);
}
EOF
    start varnish varnishd -F -n "$work/varnish" -a "127.0.0.1:$behind,PROXY" -f "$work/varnish.vcl" -p feature=+http2 -s default,16m
    start hitch hitch --frontend="[127.0.0.1]:$server_port" --backend="[127.0.0.1]:$behind" --write-proxy-v2=on \
        --alpn-protos=h2 --user=nobody "$work/both.pem"
}

serve_lighttpd() {
    start_behind
    cat >"$work/lighttpd.conf" <<EOF
server.document-root = "$work"
server.port = $server_port
server.bind = "127.0.0.1"
server.modules = ("mod_openssl", "mod_proxy")
server.feature-flags += ("server.h2proto" => "enable")
ssl.engine = "enable"
ssl.pemfile = "$work/server.pem"
ssl.privkey = "$work/server.key"
proxy.server = ("" => (("host" => "127.0.0.1", "port" => $behind)))
EOF
    start lighttpd lighttpd -D -f "$work/lighttpd.conf"
}

serve_node() {
    start node node Benchmarks/Interop/node.mjs "$server_port" "$work/server.pem" "$work/server.key" "$gone_body" "$bad_body"
}

# java_server FILE JARS…
java_server() {
    local path
    path=$(cd /usr/share/java && printf '/usr/share/java/%s:' ${@:2})
    [ -d "$work/classes" ] || mkdir "$work/classes"
    javac -nowarn -cp "$path" -d "$work/classes" "Benchmarks/Interop/$1.java" >"$work/javac.log" 2>&1 || fail "$1.java does not compile"
    start "$1" java -cp "$work/classes:$path" "$1" "$server_port" "$work/server.pem" "$work/server.key" "$gone_body" "$bad_body"
}
serve_netty() { java_server NettyServer 'netty-*.jar'; }
serve_jetty() { java_server JettyServer 'jetty9-*.jar' 'servlet-api*.jar' 'slf4j-api*.jar'; }

serve_hypercorn() {
    asgi hypercorn --bind "127.0.0.1:$server_port" --certfile "$work/server.pem" --keyfile "$work/server.key" --log-level error app:app
}
serve_granian() {
    asgi granian --interface asgi --host 127.0.0.1 --port "$server_port" --http 2 --ssl-certificate "$work/server.pem" \
        --ssl-keyfile "$work/server.key" --log-level error app:app
}
serve_daphne() {
    asgi daphne -e "ssl:$server_port:privateKey=$work/server.key:certKey=$work/server.pem:interface=127.0.0.1" -v 0 app:app
}
# asgi PROGRAM OPTIONS…
asgi() {
    local program=$1
    shift
    GONE=$gone_body BAD=$bad_body PYTHONPATH=Benchmarks/Interop start "$program" "$venv/$program" "$@"
}

serve_envoy() {
    cat >"$work/envoy.yaml" <<EOF
static_resources:
  listeners:
  - address: {socket_address: {address: 127.0.0.1, port_value: $server_port}}
    filter_chains:
    - transport_socket:
        name: tls
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext
          common_tls_context:
            alpn_protocols: [h2]
            tls_certificates:
            - {certificate_chain: {filename: $work/server.pem}, private_key: {filename: $work/server.key}}
      filters:
      - name: http
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: apns
          codec_type: HTTP2
          http_filters:
          - name: router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes:
              - match: {safe_regex: {regex: "$rejected.*"}}
                direct_response: {status: 410, body: {inline_string: '$gone_body'}}
              - match: {safe_regex: {regex: "$bad.*"}}
                direct_response: {status: 400, body: {inline_string: '$bad_body'}}
              - match: {prefix: /}
                direct_response: {status: 200}
EOF
    start envoy envoy -c "$work/envoy.yaml" --log-level error --concurrency 1 --base-id $((RANDOM % 1000))
}
