// The peer `Express` of `reads`: a careful application, without what Express adds by itself, that sends the bytes it was
// given with the head it was given. Arguments: a JSON file with the answer.
import { createServer } from 'node:https';
import express from 'express';
import { listenUntilAsked, readFloor } from './floor-file.ts';

const { status, headers, bytes, tls } = readFloor(process.argv[2] ?? '');
const app = express();
app.disable('x-powered-by');
app.set('etag', false);
app.set('query parser', false);
app.get('/hiera/:node', (_request, response) => {
  response.writeHead(status, headers);
  response.end(bytes);
});
listenUntilAsked(createServer(tls, app));
