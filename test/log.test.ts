// Tests the log lines of errors: a foreseen failure is logged with its message and without its stack.
import { expect, it } from 'vitest';
import { createLog } from '../src/base/log.ts';
import type { LogLevel } from '../src/model/settings.ts';
import { SourceError } from '../src/repository/source.ts';

function logged(level: LogLevel, error: Error): { readonly err: Readonly<Record<string, unknown>> } {
  const lines: string[] = [];
  createLog(level, { write: (line) => lines.push(line) }).error({ err: error }, 'failed');
  return JSON.parse(lines[0] ?? '');
}

it('the log omits the stack of an expected failure, and keeps the message of its cause', () => {
  const error = new SourceError('there is no directory', { cause: new Error('ENOENT') });
  expect(logged('info', error).err).toEqual({
    type: 'GitError',
    name: 'GitError',
    message: 'there is no directory: ENOENT',
  });
});

it('the log keeps the stack of other errors, and of all at the level debug', () => {
  expect(logged('info', new Error('x')).err).toMatchObject({
    message: 'x',
    stack: expect.stringContaining('Error: x'),
  });
  expect(logged('debug', new SourceError('x')).err).toHaveProperty('stack');
});

it('the log escapes control characters and marks of direction in keys and values', () => {
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => lines.push(line) });
  const name = 'a\u001b[2J\u007f\u0085\u009b\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069\n\té😀\u200b';
  log.info({ [name]: name, err: new Error(name) }, name);
  const escaped = `${String.raw`a\u001b[2J\u007f\u0085\u009b\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069\n\té😀`}\u200b`;
  expect(lines).toHaveLength(1);
  expect(lines[0]?.split(escaped)).toHaveLength(6);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ [name]: name, msg: name, err: { message: name } });
});
