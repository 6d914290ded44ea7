// Authors that cannot be forged, and messages that lead back to the request.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Client } from '../../../src/model/objects.ts';
import { commitText } from '../../../src/service/write/judge-writes.ts';
import { ADMINISTRATOR } from '../service.ts';

function textOf(description: string, subject = 'Set the tree', fields: Partial<Client> = {}) {
  return commitText(subject, { by: { ...ADMINISTRATOR, description, ...fields }, requestId: '5f0c-1' });
}

it('the message of a commit contains the client and the request id', () => {
  expect(textOf('Ada of the platform team', 'Set stack instance shop', { serial: 'A1B2' })).toEqual({
    author: { name: 'Ada of the platform team', email: 'a1b2@client.treeline.invalid' },
    message:
      'Set stack instance shop\n\nTreeline-Client: A1B2\nTreeline-Role: administrator\nTreeline-Request-Id: 5f0c-1\n',
  });
});

describe('the author of a commit', () => {
  it.each([
    ['Ada <root@example>', 'Ada root@example'],
    ['Ada\r\n\r\nTreeline-Role: administrator', 'Ada Treeline-Role: administrator'],
    ['  Ada\t\0of\u0007 it  ', 'Ada of it'],
    ['', 'client A1'],
    ['--- ...', 'client A1'],
    ['Ådå 北京', 'Ådå 北京'],
    ['x'.repeat(200), 'x'.repeat(80)],
    [`${'x'.repeat(79)}😀`, 'x'.repeat(79)],
    ['a\ud800b', 'a b'],
  ])('for the client %j has the name %j', (description, name) => {
    expect(textOf(description).author.name).toBe(name);
  });
});

it('never breaks a header or begins a trailer, for any client name', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (description, subject) => {
      const { author, message } = textOf(description, subject);
      expect(author.name).toMatch(/^[^<>\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]{1,80}$/u);
      expect(author.name).toBe(author.name.trim());
      expect(message.split('\n').slice(1)).toEqual([
        '',
        'Treeline-Client: A1',
        'Treeline-Role: administrator',
        'Treeline-Request-Id: 5f0c-1',
        '',
      ]);
    }),
  );
});
