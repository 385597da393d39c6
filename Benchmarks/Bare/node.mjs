// The same requests from Node's own http2 client, as scripts and lambdas send them. Arguments and output as the loops in C.
import { connect } from 'node:http2';
import { readFileSync } from 'node:fs';

const [host, port, ca, jwt, bodyFile, inFlight, requests] = process.argv.slice(2);
const warmUp = 2000, count = Number(requests) + warmUp;
const body = readFileSync(bodyFile), rest = 'ab'.repeat(72);
const session = connect(`https://${host}:${port}`, { ca: readFileSync(ca) });
const token = Buffer.alloc(8);
let begun = 0, ended = 0, open = 0, failed = 0, room = 1, start, cpu;

function finish() {
    const seconds = Number(process.hrtime.bigint() - start) / 1e9;
    const used = process.cpuUsage(cpu);
    session.close();
    console.log(JSON.stringify({ requests: count - warmUp, failed, seconds, cpu_us: (used.user + used.system) / (count - warmUp) }));
    process.exit(failed ? 1 : 0);
}
function fill() {
    while (open < room && begun < count) {
        token.writeBigUInt64LE(BigInt(begun++));
        const request = session.request({
            ':method': 'POST', ':path': `/3/device/${token.toString('hex')}${rest}`, authorization: `bearer ${jwt}`,
            'apns-push-type': 'liveactivity', 'apns-topic': 'com.example.scores.push-type.liveactivity', 'apns-priority': '10',
            'apns-expiration': '0',
        });
        open++;
        request.on('response', (headers) => { if (headers[':status'] !== 200) failed++; });
        request.on('close', () => {
            open--;
            if (room < Number(inFlight)) room++;
            if (++ended === warmUp) [start, cpu] = [process.hrtime.bigint(), process.cpuUsage()];
            if (ended === count) finish(); else fill();
        });
        request.on('error', () => failed++);
        request.resume();
        request.end(body);
    }
}
session.on('connect', fill);
