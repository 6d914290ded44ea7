// The floor of `reads`: a bare Node HTTPS server that verifies client certificates and sends the bytes it was given,
// with the head it was given. No server written for Node can be much faster. Arguments: a JSON file with the answer.
import { createServer } from 'node:https';
import { listenUntilAsked, readFloor } from './floor-file.ts';

const { status, headers, bytes, tls } = readFloor(process.argv[2] ?? '');
const server = createServer(tls, (_request, response) => {
  response.writeHead(status, headers);
  response.end(bytes);
});
listenUntilAsked(server);
