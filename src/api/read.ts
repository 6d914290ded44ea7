// The one handler of all reads.
import type { Request, Response } from 'express';
import type { Reader } from '../service/reader.ts';
import { type Answer, sendRead } from './present.ts';

/** Returns a handler for GET and HEAD that sends what `ask` returns. What `ask` throws becomes the answer instead. */
export function read<Params>(reader: Reader, ask: (request: Request<Params>) => Answer) {
  return (request: Request<Params>, response: Response): void => {
    sendRead(request, response, { commit: reader.commit(), ...ask(request) });
  };
}

/** Returns the same for a read that is answered from rows too while a commit is held and nothing is active. */
export function readRecorded<Params>(reader: Reader, ask: (request: Request<Params>) => Answer) {
  return (request: Request<Params>, response: Response): void => {
    sendRead(request, response, { commit: reader.recordedCommit(), ...ask(request) });
  };
}
