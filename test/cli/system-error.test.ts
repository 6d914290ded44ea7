// Tests the messages of commands for errors of the operating system: one line, what to do, no stack.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { listenOn } from '../../src/base/listen.ts';
import { describeSystemError } from '../../src/cli/command-failure.ts';
import { serving } from '../../src/cli/run-until-signalled.ts';
import { LeftoverError } from '../../src/programs/program-runner.ts';
import { SettingsError } from '../../src/settings/load-settings.ts';
import { DirectoryInUse, NotLeading, StoreError } from '../../src/store/store-error.ts';
import { treeline } from '../support/command-line.ts';
import { createSite } from '../support/site.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const TREE = { 'tree.yaml': 'name: global\ntype: common\n' };

describe('describeSystemError', () => {
  it.each([
    ['EADDRINUSE', { address: '127.0.0.1', port: 8443 }, '127.0.0.1:8443 is in use by another program'],
    ['EACCES', { path: '/srv/x' }, '/srv/x cannot be used: permission denied'],
    ['EACCES', { address: '127.0.0.1', port: 443 }, '127.0.0.1:443 may not be listened on by this user'],
    ['EACCES', { address: '/srv/state/lock-0a', port: -1 }, '/srv/state cannot be used: permission denied'],
    ['EROFS', { address: '/srv/state/lock-0a', port: -1 }, '/srv/state cannot be used: its file system is read-only'],
    ['EADDRINUSE', { address: '::', port: 9080, setting: 'management.port' }, 'set another management.port'],
    ['EROFS', { path: '/srv/x' }, '/srv/x cannot be used: its file system is read-only'],
    ['ENOENT', { path: '/srv/x' }, '/srv/x cannot be used: it is not there'],
    ['ENOSPC', { path: '/srv/x' }, '/srv/x cannot be used: no space is left'],
    ['EXDEV', { path: '/srv/x' }, 'as the system said it'],
  ])('words %s', (code, facts, words) => {
    const error = Object.assign(new Error('as the system said it'), { code, syscall: 'open', ...facts });
    expect(describeSystemError(error)).toContain(words);
  });

  it('keeps the message of other errors', () => {
    expect(describeSystemError(new Error('ours'))).toBeUndefined();
    expect(describeSystemError(Object.assign(new Error('ours'), { code: 'conflict' }))).toBeUndefined();
    expect(describeSystemError('text')).toBeUndefined();
  });
});

describe('serve and proxy', () => {
  const system = (code: string): Error => Object.assign(new Error(code), { code, syscall: 'open', path: '/srv/x' });

  it.each<[why: string, error: Error, exitCode: number]>([
    ['the settings are wrong', new SettingsError('x: 1', []), 3],
    ['the store is damaged', new StoreError('damaged'), 3],
    ['the directory may not be used', system('EACCES'), 3],
    ['the directory is a file', system('ENOTDIR'), 3],
    ['the disk is full', system('ENOSPC'), 4],
    ['a port is taken', system('EADDRINUSE'), 4],
    ['another process has the directory', new DirectoryInUse('in use'), 4],
    ['the lease is lost', new NotLeading('not leading'), 4],
    ['programs of an earlier process cannot be ended', new LeftoverError('they run'), 4],
    ['something unexpected happens', new TypeError('undefined'), 4],
  ])('end with the exit code of a failure when %s', async (_, error, exitCode) => {
    const work = serving([SettingsError, StoreError], () => Promise.reject(error));
    await expect(work).rejects.toMatchObject({ name: 'CommandFailure', exitCode });
  });
});

describe('a command with a system error', () => {
  it('names the taken port', async () => {
    const holder = createServer();
    const { port } = await listenOn(holder, { host: '127.0.0.1', port: 0 });
    const { config } = await createSite(TREE);
    const settings = readFileSync(config, 'utf8');
    writeFileSync(
      config,
      settings.replace('management: { host: 127.0.0.1, port: 0 }', `management: { port: ${port} }`),
    );
    const ended = await treeline(['serve', '--config', config]);
    holder.close();
    expect(ended.code, 'another start may succeed').toBe(4);
    expect(ended.stderr).toBe(
      `treeline: 127.0.0.1:${port} is in use by another program: stop that one, or set another management.port\n`,
    );
  });

  it('names the unusable store', async () => {
    const { config, state } = await createSite(TREE);
    mkdirSync(join(state, 'store.sqlite'));
    const ended = await treeline(['serve', '--config', config]);
    expect(ended.code).toBe(3);
    expect(ended.stderr).toMatch(/^treeline: \S+store\.sqlite cannot be used: .+\n$/);
  });

  it('names the invalid folder', async () => {
    const file = join(temporaryDirectory(), 'file');
    writeFileSync(file, '');
    const ended = await treeline(['schemas', file]);
    expect(ended).toMatchObject({ code: 3, stdout: '' });
    expect(ended.stderr).toBe(`treeline: ${file} is a file, not a folder\n`);
  });
});
