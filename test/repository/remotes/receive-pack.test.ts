// Tests the request and the answer of a push, byte by byte.
import { describe, expect, it } from 'vitest';
import { packetLine, readPackets, splitBands } from '../../../src/repository/remotes/packet-line.ts';
import { pushRequest, readReport } from '../../../src/repository/remotes/receive-pack.ts';

const A = 'a'.repeat(40);
const B = 'b'.repeat(40);
const NOWHERE = '0'.repeat(40);
const CAPABILITIES = 'report-status delete-refs side-band-64k quiet atomic ofs-delta agent=git/2.39.5';

/** Packets of text, '' for a flush. */
function packets(...lines: readonly string[]): Buffer {
  return Buffer.concat(lines.map((line) => (line === '' ? Buffer.from('0000') : packetLine(line))));
}

function band(number: number, content: Buffer | string): Buffer {
  const bytes = Buffer.concat([Buffer.of(number), Buffer.from(content)]);
  return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, '0')), bytes]);
}

describe('packets', () => {
  it('are written and read', () => {
    expect(packetLine('a\n').toString()).toBe('0006a\n');
    expect(packetLine('ü').toString()).toBe('0006ü');
    expect(readPackets(packets('one\n', '', 'two')).map((packet) => packet?.toString() ?? null)).toEqual([
      'one\n',
      null,
      'two',
    ]);
    expect(readPackets(Buffer.alloc(0))).toEqual([]);
  });

  it.each(['0005', '000', '0', 'zzzz', '0003', '0001', 'fff1', '0006a', ' 006a', '-006ab'])(
    '%j are refused',
    (text) => {
      expect(() => readPackets(Buffer.from(text))).toThrow(/it is (cut off|not written in packets)/);
    },
  );

  it('of bands are taken apart', () => {
    const mixed = Buffer.concat([band(2, 'one '), band(1, '00'), band(2, 'two'), band(1, '00'), Buffer.from('0000')]);
    expect(splitBands(mixed)).toEqual({ content: Buffer.from('0000'), words: 'one two', failure: null });
    expect(splitBands(band(3, 'no\n'))).toMatchObject({ failure: 'no' });
    expect(() => splitBands(band(4, 'x'))).toThrow(/not numbered/);
    expect(() => splitBands(band(0, 'x'))).toThrow(/not numbered/);
    expect(() => splitBands(Buffer.from('0004'))).toThrow(/not numbered/);
  });
});

describe('a request', () => {
  const pack = Buffer.from('PACK…');
  const update = { branch: 'main', old: A, commit: B };

  it('asks for what is offered, and carries the pack', () => {
    const request = pushRequest(update, { capabilities: new Set(CAPABILITIES.split(' ')), pack }).toString();
    const order = `${A} ${B} refs/heads/main\0 report-status side-band-64k quiet agent=git/treeline\n`;
    expect(request).toBe(`${(order.length + 4).toString(16).padStart(4, '0')}${order}0000PACK…`);
  });

  it('says nothing but its own name where nothing is offered', () => {
    const request = pushRequest({ ...update, old: null }, { capabilities: new Set(), pack }).toString();
    expect(request).toContain(`${NOWHERE} ${B} refs/heads/main\0 agent=git/treeline\n0000PACK…`);
  });
});

describe('a report', () => {
  const plain = { heads: new Map<string, string>(), capabilities: new Set(['report-status']) };
  const banded = { ...plain, capabilities: new Set(['report-status', 'side-band-64k']) };
  const done = packets('unpack ok\n', 'ok refs/heads/main\n', '');

  it('of success', () => {
    expect(readReport(done, 'main', plain)).toEqual({ refusal: null, words: '' });
    const bands = Buffer.concat([band(2, 'hello\n'), band(1, done.subarray(0, 7)), band(1, done.subarray(7))]);
    expect(readReport(bands, 'main', banded)).toEqual({ refusal: null, words: 'hello\n' });
  });

  it('of a refusal', () => {
    const refused = packets('unpack ok', 'ng refs/heads/main hook declined', '');
    expect(readReport(refused, 'main', plain).refusal).toBe('hook declined');
    const broken = packets('unpack index-pack abnormal exit', 'ng refs/heads/main unpacker error', '');
    expect(readReport(broken, 'main', plain).refusal).toBe('it cannot unpack what was sent: index-pack abnormal exit');
  });

  it.each([
    ['nothing', Buffer.alloc(0), /does not end/],
    ['a flush', packets(''), /there is no report/],
    ['no end', packets('unpack ok', 'ok refs/heads/main'), /does not end/],
    ['no beginning', packets('ok refs/heads/main', ''), /there is no report/],
    ['another branch', packets('unpack ok', 'ok refs/heads/main2', ''), /does not name the branch main/],
    ['no branch', packets('unpack ok', ''), /does not name the branch main/],
    ['half a packet', done.subarray(0, -6), /cut off|not written/],
  ])('that is %s says nothing', (_, body, message) => {
    expect(() => readReport(body, 'main', plain)).toThrow(message);
  });

  it('of a remote that gave up says nothing', () => {
    const bands = Buffer.concat([band(1, done), band(3, 'fatal: disk\n')]);
    expect(() => readReport(bands, 'main', banded)).toThrow('the remote gave up: fatal: disk');
  });
});
