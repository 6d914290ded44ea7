// Following the files: what is taken over, what is kept out, and what the log says of it. Time stands still unless it is
// moved, so nothing is read but what is meant to be.
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { openTlsFiles, TlsFilesError, type TlsPaths } from '../../../src/api/tls/tls-files.ts';
import type { TlsMaterial } from '../../../src/api/tls/tls-material.ts';
import { createAuthority, issueServerCertificate } from '../../../src/base/development-pki.ts';
import { createLog } from '../../../src/base/log.ts';
import type { JsonMap } from '../../../src/model/json.ts';
import { createCrl } from '../../support/create-crl.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Texts by the names of the files. */
type TlsTexts = Readonly<Record<'server.key' | 'server.crt' | 'ca.crt' | 'ca.crl', string>>;
type TlsSite = Awaited<ReturnType<typeof createTlsSite>>;

/** Makes the files as they are on the day `now`; gone after the running test. */
async function createTlsSite(now: number) {
  const directory = temporaryDirectory();
  const authority = await createAuthority({ commonName: 'Site authority', now });
  const at = (name: keyof TlsTexts): string => join(directory, name);
  const paths: TlsPaths = { key: at('server.key'), cert: at('server.crt'), clientCa: at('ca.crt'), crl: at('ca.crl') };
  /** Makes another key and certificate for the server. */
  const issueServer = async () => {
    const { key, cert } = await issueServerCertificate(authority, { now });
    return { 'server.key': key, 'server.crt': cert };
  };
  const crl = (validity: { readonly now?: number; readonly days?: number } = {}): string =>
    createCrl(authority, { now, ...validity, revoked: [] });
  const texts: TlsTexts = { ...(await issueServer()), 'ca.crt': authority.cert, 'ca.crl': crl() };
  writeOver(directory, texts);
  return { directory, paths, texts, issueServer, crl };
}

/** Writes each file where it is: for a moment it is empty. */
function writeOver(directory: string, texts: Partial<TlsTexts>): void {
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(directory, name), text);
}

/** Gives each new file the name of the old one: there is no moment without a whole file. */
function replace(directory: string, texts: Partial<TlsTexts>): void {
  for (const [name, text] of Object.entries(texts)) {
    writeFileSync(join(directory, `${name}.new`), text);
    renameSync(join(directory, `${name}.new`), join(directory, name));
  }
}

const POLL_MS = 10_000;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

async function open(site: TlsSite, clock = new ManualClock()) {
  const lines: JsonMap[] = [];
  const log = createLog('info', { write: (line) => lines.push(JSON.parse(line)) });
  const files = await openTlsFiles({ paths: site.paths, clock, log });
  onTestFinished(() => files.close());
  return { files, lines, clock };
}

/** Follows the files of a new site; time does not move by itself. */
async function follow(prepare: (site: TlsSite, now: number) => void = () => undefined) {
  const clock = new ManualClock();
  const site = await createTlsSite(clock.now());
  prepare(site, clock.now());
  const { files, lines } = await open(site, clock);
  const taken: TlsMaterial[] = [];
  files.follow((material) => taken.push(material));
  return {
    site,
    files,
    lines,
    clock,
    taken,
    /** Lets the files be looked at, for whatever reason, and waits until that is over. */
    async poll(ms = POLL_MS) {
      await vi.waitFor(() => expect(clock.pending).toBe(1), { interval: 1 });
      clock.advance(ms);
      await vi.waitFor(() => expect(clock.pending).toBe(1), { interval: 1 });
    },
  };
}

function materialOf(texts: TlsTexts): TlsMaterial {
  return { key: texts['server.key'], cert: texts['server.crt'], ca: texts['ca.crt'], crl: texts['ca.crl'] };
}

describe('opening the TLS files', () => {
  test('returns the material and its ends', async () => {
    const { site, files, lines } = await follow();
    expect(files.material).toEqual(materialOf(site.texts));
    expect(files.ends.map(({ id }) => id)).toEqual(['server', expect.stringMatching(/^ca:/), 'crl']);
    expect(lines).toEqual([]);
  });

  test('fails with every invalid file and its fault', async () => {
    const clock = new ManualClock();
    const site = await createTlsSite(clock.now());
    const { key, cert, clientCa } = site.paths;
    writeOver(site.directory, { ...(await site.issueServer()), 'server.key': site.texts['server.key'], 'ca.crt': '' });
    const opening = open(site, clock);
    await expect(opening).rejects.toThrow(TlsFilesError);
    await expect(opening).rejects.toThrow(/^The files of api\.tls cannot be used:\n/);
    await expect(opening).rejects.toThrow(`\n${cert}: it does not match the private key`);
    await expect(opening).rejects.toThrow(`\n${clientCa}: it contains no certificate in PEM`);

    rmSync(key);
    rmSync(cert);
    mkdirSync(cert);
    const unreadable = open(site, clock);
    await expect(unreadable).rejects.toThrow(`\n${key}: it is not there`);
    await expect(unreadable).rejects.toThrow(`\n${cert}: it is a folder`);
  });

  test('uses and logs a list that locks out all clients, and later changes of other files', async () => {
    const { lines, site, taken, poll } = await follow(({ directory, crl }, now) =>
      writeOver(directory, { 'ca.crl': crl({ now: now - 2 * DAY_MS, days: 1 }) }),
    );
    const problem = /ca\.crl: its list of the authority .* has expired at .* would be locked out$/;
    expect(lines).toMatchObject([
      {
        level: 50,
        msg: 'the TLS files are used, but lock out clients',
        problems: [expect.stringMatching(problem)],
      },
      { level: 40, msg: 'the revocation list of CN=Site authority has expired: replace it' },
    ]);
    replace(site.directory, await site.issueServer());
    await poll();
    expect(taken).toHaveLength(1);
  });
});

describe('a change of the TLS files is used', () => {
  test.each([
    ['written over', writeOver],
    ['replaced', replace],
  ])('whose files are %s', async (_name, write) => {
    const { site, files, lines, taken, poll } = await follow();
    const texts = { ...site.texts, 'ca.crl': site.crl({ days: 100 }) };
    write(site.directory, texts);
    await poll();
    expect(files.material).toEqual(materialOf(texts));
    expect(taken).toEqual([materialOf(texts)]);
    expect(lines).toMatchObject([{ level: 30, msg: 'TLS files reloaded', files: [site.paths.crl] }]);
  });
});

const KEPT = { level: 50, msg: 'the new TLS files cannot be used; the earlier ones stay in force' };

describe('a change of the TLS files is not used', () => {
  test('until key and certificate match, with one log line', async () => {
    const { site, files, lines, taken, poll } = await follow();
    const { 'server.key': key, 'server.crt': cert } = await site.issueServer();
    replace(site.directory, { 'server.key': key });
    for (let times = 0; times < 3; times++) await poll();
    const problem = `${site.paths.cert}: it does not match the private key`;
    expect(lines).toMatchObject([{ ...KEPT, problems: [expect.stringContaining(problem)] }]);
    expect(files.material).toEqual(materialOf(site.texts));
    expect(files.failure?.reason).toContain(problem);
    expect(taken).toEqual([]);

    replace(site.directory, { 'server.crt': cert });
    await poll();
    expect(files.failure).toBeUndefined();
    expect(taken).toEqual([materialOf({ ...site.texts, 'server.key': key, 'server.crt': cert })]);
    expect(lines.slice(1)).toMatchObject([{ level: 30, msg: 'TLS files reloaded' }]);
  });

  test.each<[string, (site: TlsSite) => Partial<TlsTexts>, string]>([
    ['an empty certificate', () => ({ 'server.crt': '' }), 'server.crt: it contains no certificate'],
    [
      'an expired list',
      ({ crl }) => ({ 'ca.crl': crl({ now: new ManualClock().now() - 2 * DAY_MS, days: 1 }) }),
      'ca.crl: its list of the authority CN=Site authority has expired at',
    ],
  ])('that has %s', async (_name, wrong, problem) => {
    const { site, files, lines, taken, poll } = await follow();
    replace(site.directory, wrong(site));
    await poll();
    await poll();
    const problems = expect.arrayContaining([expect.stringContaining(`${site.directory}/${problem}`)]);
    expect(lines).toMatchObject([{ ...KEPT, problems }]);
    expect({ taken, material: files.material }).toEqual({ taken: [], material: materialOf(site.texts) });

    replace(site.directory, site.texts);
    await poll();
    expect(lines.slice(1)).toMatchObject([{ level: 30, msg: 'the TLS files match those in force again' }]);
    expect(taken).toEqual([]);
  });

  test('whose list is not valid yet, until it is', async () => {
    const { site, clock, lines, taken, poll } = await follow();
    const crl = site.crl({ now: clock.now() + 20 * MINUTE_MS });
    replace(site.directory, { 'ca.crl': crl });
    await poll();
    expect(lines).toMatchObject([{ ...KEPT, problems: [expect.stringContaining('is not valid before')] }]);
    await poll(20 * MINUTE_MS);
    expect(taken).toEqual([{ ...materialOf(site.texts), crl }]);
  });

  test('that the listener refuses', async () => {
    const clock = new ManualClock();
    const site = await createTlsSite(clock.now());
    const { files, lines } = await open(site, clock);
    let refusals = 0;
    files.follow(() => {
      refusals++;
      throw new Error('not with me');
    });
    replace(site.directory, await site.issueServer());
    await vi.waitFor(() => {
      clock.advance(MINUTE_MS);
      expect(refusals).toBeGreaterThan(2);
    }, 20_000);
    expect(lines).toMatchObject([{ ...KEPT, problems: ['not with me'] }]);
    expect(files.material).toEqual(materialOf(site.texts));
  });
});

test('TLS material that expires is logged once a day, until it is replaced', async () => {
  const { site, clock, lines, poll } = await follow();
  const pass = async (days: number): Promise<readonly string[]> => {
    for (let hours = 0; hours < days * 24; hours++) await poll(60 * MINUTE_MS);
    return lines.splice(0).map(
      ({ level, msg }) =>
        `${level} ${
          String(msg)
            .replace(/^.* (?=expires|has)/, '')
            .split(':')[0]
        }`,
    );
  };
  replace(site.directory, { 'ca.crl': site.crl({ now: clock.now(), days: 8 }) });
  // A quarter of eight days before its end is after six.
  expect(await pass(5)).toEqual(['30 TLS files reloaded']);
  expect(await pass(5)).toEqual([...Array(3).fill('40 expires soon'), ...Array(2).fill('40 has expired')]);
  replace(site.directory, { 'ca.crl': site.crl({ now: clock.now(), days: 30 }) });
  expect(await pass(2)).toEqual(['30 TLS files reloaded']);
});

test('the TLS files are not used after close', async () => {
  const { site, files, taken, clock } = await follow();
  await files.close();
  replace(site.directory, await site.issueServer());
  clock.advance(MINUTE_MS);
  expect(clock.pending).toBe(0);
  expect(taken).toEqual([]);
});
