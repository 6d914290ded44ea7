// Reads what a program writes, within limits: all of its standard output, and the end of its standard error.
import type { Readable } from 'node:stream';

/** The program wrote more than is read. */
export class OutputError extends Error {
  override readonly name = 'OutputError';
}

/** The output of a program, while it is read. */
export interface ProgramOutput {
  /** Resolves once the stream has ended or was closed. */
  readonly ended: Promise<void>;
  /** Rejects with OutputError as soon as there is too much output; never resolves. */
  readonly overflow: Promise<never>;
  /** Returns what was read until now. */
  text(): string;
}

/** Reads a stream up to `bytesMax`. */
export function readOutput(stream: Readable, bytesMax: number): ProgramOutput {
  const overflow = Promise.withResolvers<never>();
  const ended = Promise.withResolvers<void>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= bytesMax) chunks.push(chunk);
    else overflow.reject(new OutputError(`the program wrote more than ${bytesMax} bytes`));
  });
  stream.on('close', ended.resolve);
  return { ended: ended.promise, overflow: overflow.promise, text: () => Buffer.concat(chunks).toString('utf8') };
}

/** Reads a stream to its end, and keeps the last `bytesMax`. */
export function readTail(stream: Readable, bytesMax: number): Omit<ProgramOutput, 'overflow'> {
  const ended = Promise.withResolvers<void>();
  let tail = Buffer.alloc(0);
  stream.on('data', (chunk: Buffer) => {
    tail = Buffer.concat([tail, chunk.subarray(-bytesMax)]).subarray(-bytesMax);
  });
  stream.on('close', ended.resolve);
  return { ended: ended.promise, text: () => tail.toString('utf8') };
}
