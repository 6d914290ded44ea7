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

it('leaves the stack out of a foreseen failure, and keeps the words of its cause', () => {
  const error = new SourceError('there is no directory', { cause: new Error('ENOENT') });
  expect(logged('info', error).err).toEqual({
    type: 'GitError',
    name: 'GitError',
    message: 'there is no directory: ENOENT',
  });
});

it('keeps the stack of any other error, and of all where the log is for finding mistakes', () => {
  expect(logged('info', new Error('x')).err).toMatchObject({
    message: 'x',
    stack: expect.stringContaining('Error: x'),
  });
  expect(logged('debug', new SourceError('x')).err).toHaveProperty('stack');
});
