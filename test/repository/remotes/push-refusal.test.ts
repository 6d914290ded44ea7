// Tests how the refusals of git and of known hosts are classified when they do not accept a push.
import { describe, expect, it } from 'vitest';
import { judgeRefusal, unknownOutcome } from '../../../src/repository/remotes/push-refusal.ts';

const PUSH = { name: 'https://git.example/x', branch: 'main', isNew: false, words: '' };

function refused(reason: RegExp) {
  return { is: 'refused', reason: expect.stringMatching(reason) };
}

describe('judgeRefusal', () => {
  it.each([
    ['non-fast-forward', ''],
    ['fetch first', ''],
    ['stale info', ''],
    ['failed to update ref', "error: cannot lock ref 'refs/heads/main': is at aa but expected bb"],
    ['failed to lock', ''],
    ['cannot lock ref', ''],
    ['reference already exists', ''],
    ['incorrect old value provided', ''],
    ['failed to update ref', "Unable to create '/x/refs/heads/main.lock': File exists."],
  ])('takes %j for a branch that has moved on (%s)', (reason, words) => {
    expect(judgeRefusal({ ...PUSH, reason, words })).toEqual({ is: 'moved' });
    expect(judgeRefusal({ ...PUSH, isNew: true, reason, words })).toEqual(refused(/has another branch "main" already/));
  });

  it.each([
    [
      'branch is currently checked out',
      'error: By default',
      /updateInstead" there, or Treeline follows a bare repository instead$/,
    ],
    ['Working directory has unstaged changes', '', /commit or take back there what is checked out and changed$/],
    ['Could not update working tree to new HEAD', 'x', /is checked out and changed: x$/],
    [
      'protected branch hook declined',
      'error: GH006: Protected branch update failed',
      /is protected: .*: error: GH006/,
    ],
    ['pre-receive hook declined', 'error: GH013: Repository rule violations found', /is protected: /],
    [
      'pre-receive hook declined',
      'GitLab: You are not allowed to push code to protected branches',
      /is protected: .*GitLab/,
    ],
    ['pre-receive hook declined', 'Gitea: Not allowed to push to protected branch main', /is protected: /],
    ['pre-receive hook declined', 'no tickets named', /a hook of the repository has refused it: no tickets named$/],
    ['hook declined', '', /a hook of the repository has refused it$/],
    ['failed to update ref', "Unable to create '/x.lock': Permission denied", /see the permissions and the disk there/],
    ['failed to update ref', 'ref updates aborted by the reference-transaction hook', /a hook of the repository/],
    [
      'it cannot unpack what was sent: unpack-objects abnormal exit',
      'insufficient permission for adding',
      /permissions/,
    ],
    ['it cannot unpack what was sent: unable to create temporary object directory', '', /permissions and the disk/],
    ['deny updating a hidden ref', '', /\(deny updating a hidden ref\): see the settings of the repository$/],
    ['', '', /see the settings of the repository$/],
  ])('takes %j for a no (%s)', (reason, words, message) => {
    const outcome = judgeRefusal({ ...PUSH, reason, words });
    expect(outcome).toEqual(refused(message));
    expect(outcome).toEqual(refused(/^"https:\/\/git.example\/x" refuses the push to main \(/));
  });

  it('quotes words without colours, control characters and endlessness', () => {
    const words = `\u001b[1;31mno\u001b[0m\r\n\u0007  way\u009b\n${'x'.repeat(5_000)}`;
    const outcome = judgeRefusal({ ...PUSH, reason: 'hook declined', words });
    expect(outcome).toEqual(refused(/refused it: no way x{993}$/));
  });
});

it('an unknown outcome says why', () => {
  const reason = 'it is not known whether "x" took the push: the line was cut';
  expect(unknownOutcome('x', new Error('the line was cut'))).toEqual({ is: 'unknown', reason });
});
