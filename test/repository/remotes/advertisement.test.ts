// Tests the parser of a remote's advertisement of branches, byte by byte.
import { describe, expect, it } from 'vitest';
import { type Advertisement, askForBranches } from '../../../src/repository/remotes/advertisement.ts';
import { packetLine } from '../../../src/repository/remotes/packet-line.ts';
import { canReport } from '../../../src/repository/remotes/receive-pack.ts';
import { SentSecrets } from '../../../src/repository/remotes/sent-secrets.ts';
import type { Transport } from '../../../src/repository/remotes/transport.ts';
import { SourceError } from '../../../src/repository/source.ts';

const A = 'a'.repeat(40);
const B = 'b'.repeat(40);
const NOWHERE = '0'.repeat(40);
const CAPABILITIES = 'report-status delete-refs side-band-64k quiet atomic ofs-delta agent=git/2.39.5';
const { signal } = new AbortController();

/** Packets of text, '' for a flush. */
function packets(...lines: readonly string[]): Buffer {
  return Buffer.concat(lines.map((line) => (line === '' ? Buffer.from('0000') : packetLine(line))));
}

/** Asks a remote that answers with these bytes, one at a time. */
function ask(answer: Buffer, forPush = true): Promise<Advertisement> {
  const service = forPush ? 'git-receive-pack' : 'git-upload-pack';
  const transport: Transport = {
    url: 'https://git.example/x',
    name: 'x',
    secrets: new SentSecrets(),
    async request({ url, method }) {
      expect(`${method} ${url}`).toBe(`GET https://git.example/x/info/refs?service=${service}`);
      const headers = { 'content-type': `application/x-${service}-advertisement` };
      return { statusCode: 200, statusMessage: 'OK', headers, body: [...answer].map((byte) => Buffer.of(byte)) };
    },
    stream: () => Promise.reject(new Error('nothing is fetched')),
  };
  return askForBranches(transport, { forPush, signal });
}

describe('an advertisement', () => {
  it.each([true, false])('tells heads and capabilities (for a push: %j)', async (forPush) => {
    const service = `# service=git-${forPush ? 'receive' : 'upload'}-pack\n`;
    const lines = [`${A} refs/heads/main\0${CAPABILITIES}\n`, `${B} refs/heads/a/b\n`, `${B} refs/tags/v1\n`];
    const advertisement = await ask(packets(service, '', ...lines, `${B} .have\n`, ''), forPush);
    expect([...advertisement.heads]).toEqual([
      ['main', A],
      ['a/b', B],
    ]);
    expect(canReport(advertisement)).toBe(true);
    expect(advertisement.capabilities.has('side-band-64k')).toBe(true);
  });

  it.each([
    ['with capabilities', [`${NOWHERE} capabilities^{}\0report-status\n`]],
    ['without', []],
  ])('of an empty repository has no heads, %s', async (_, lines) => {
    const { heads } = await ask(packets('# service=git-receive-pack\n', '', ...lines, ''));
    expect(heads.size).toBe(0);
  });

  it.each([
    ['with a branch', `${'a'.repeat(64)} refs/heads/main\0 object-format=sha256\n`],
    ['that is empty', `${'0'.repeat(64)} capabilities^{}\0report-status object-format=sha256\n`],
  ])('of a SHA-256 repository %s is refused, with advice', async (_, line) => {
    for (const forPush of [true, false]) {
      const service = `# service=git-${forPush ? 'receive' : 'upload'}-pack\n`;
      const asked = ask(packets(service, '', line, ''), forPush);
      await expect(asked).rejects.toThrow(
        '"x" is a SHA-256 repository, which Treeline cannot read: make one with "git init --object-format=sha1"',
      );
    }
  });

  it.each([
    ['cut off', Buffer.from('00ff')],
    ['empty', Buffer.alloc(0)],
    ['of another service', packets('# service=git-upload-pack\n', '', `${A} refs/heads/main\0${CAPABILITIES}\n`, '')],
    ['without capabilities', packets('# service=git-receive-pack\n', '', `${A} refs/heads/main\n`, '')],
  ])('that is %s is refused', async (_, answer) => {
    await expect(ask(answer)).rejects.toThrow(SourceError);
    await expect(ask(answer)).rejects.toThrow(/^"x" could not be read: /);
  });
});
