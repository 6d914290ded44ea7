// What the log of contrib/providers/local-server shows of a server that is created while its process runs.
import { expect, it } from 'vitest';
import { faultsIn, type LogLine } from '../support/local-server-processes.ts';

/** Returns the faults in a log of the server `a` with lines such as `end delete 1.delete.2 done` and `started`. */
function faultsOf(...lines: readonly string[]): readonly string[] {
  const history = lines.map((line, index) => {
    const [event, operation, id, outcome] = line.split(' ');
    const action = id === undefined ? undefined : `a.${id}`;
    return { time: '10:00', pid: index + 1, resource: 'a', event, operation, action, outcome } as LogLine;
  });
  return faultsIn('a', history);
}

const MADE = ['begin create 1.create', 'started', 'end create 1.create done'];
const DELETED = ['begin delete 1.delete.2', 'end delete 1.delete.2 done'];
const ASKED = ['begin check 1.delete.2', 'end check 1.delete.2 done'];
const MADE_AGAIN = ['begin create 2.create', 'end create 2.create done'];
const FAULT = expect.stringContaining('a: incarnation 2 is created while it runs');

it('another incarnation is not to be created while the process runs', () => {
  expect(faultsOf(...MADE, ...MADE_AGAIN)).toEqual([FAULT]);
  expect(faultsOf(...MADE, 'begin check 1.check', 'end check 1.check done', ...MADE_AGAIN)).toEqual([FAULT]);
});

it('it may be where a delete was cut off, also before its program began: then only checks tell of it', () => {
  expect(faultsOf(...MADE, 'begin delete 1.delete.2', ...MADE_AGAIN)).toEqual([]);
  expect(faultsOf(...MADE, ...ASKED, ...ASKED, ...ASKED, ...MADE_AGAIN)).toEqual([]);
});

it('a delete that was done excuses nothing, also where checks asked about it before or after', () => {
  expect(faultsOf(...MADE, ...DELETED, ...MADE_AGAIN)).toEqual([FAULT]);
  expect(faultsOf(...MADE, ...DELETED, ...ASKED, ...MADE_AGAIN)).toEqual([FAULT]);
  expect(faultsOf(...MADE, ...ASKED, ...DELETED, ...MADE_AGAIN)).toEqual([FAULT]);
});

it('a fault tells which call each line is of', () => {
  expect(faultsOf(...MADE, ...DELETED, ...ASKED, ...MADE_AGAIN).join()).toContain('6 begin check a.1.delete.2\n');
});
