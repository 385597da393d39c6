// Node's http2 server with the answers of Benchmarks/Interop/servers.sh.
import { createSecureServer } from 'node:http2';
import { readFileSync } from 'node:fs';

const [port, certificate, key, gone, bad] = process.argv.slice(2);
const server = createSecureServer({ cert: readFileSync(certificate), key: readFileSync(key) });
server.on('stream', (stream, headers) => {
    const path = headers[':path'];
    stream.resume();
    stream.on('error', () => {});
    stream.on('end', () => {
        if (stream.destroyed) return;
        const status = /^\/3\/device\/0[0-7]/.test(path) ? 410 : path.startsWith('/3/device/08') ? 400 : 200;
        stream.respond({ ':status': status });
        stream.end(status === 410 ? gone : status === 400 ? bad : '');
    });
});
server.listen(Number(port), '127.0.0.1');
