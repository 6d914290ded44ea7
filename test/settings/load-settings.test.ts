import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import schema from '../../schemas/settings.schema.json' with { type: 'json' };
import { LOG_LEVELS, type Settings } from '../../src/model/settings.ts';
import { loadSettings } from '../../src/settings/load-settings.ts';
import { settingsProblems } from '../support/settings-texts.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

let directory: string;
let file: string;

beforeEach(() => {
  directory = temporaryDirectory();
  file = join(directory, 'treeline.yaml');
});

const LEAST = `api: { tls: { key: server.key, cert: server.crt, clientCa: ca.crt } }
repository: { url: stacks.git }
`;

function load(text: string, environment: Record<string, string> = {}): Promise<Settings> {
  writeFileSync(file, text);
  return loadSettings(file, environment);
}

/** The problems of a text, as `line:column code message; hint`. */
async function problemsOf(text: string, environment: Record<string, string> = {}): Promise<string[]> {
  const problems = await settingsProblems(load(text, environment));
  return problems.map(({ line, column, code, message, hint }) => `${line}:${column} ${code} ${message}; ${hint}`);
}

describe('an omitted setting', () => {
  it('gets its default, and paths become absolute', async () => {
    expect(await load(LEAST)).toEqual({
      id: 'main',
      api: {
        host: '127.0.0.1',
        port: 8443,
        proxyReads: 'all',
        requestsPerSecond: 1_000,
        tls: {
          key: join(directory, 'server.key'),
          cert: join(directory, 'server.crt'),
          clientCa: join(directory, 'ca.crt'),
          crl: null,
        },
      },
      management: { host: '127.0.0.1', port: 9080, dashboard: false },
      webhook: null,
      repository: {
        url: join(directory, 'stacks.git'),
        branch: 'main',
        directory: '.',
        pollSeconds: 30,
        writes: 'commit',
        access: { username: null, password: null, caFile: null },
        verify: null,
        sign: null,
      },
      statuses: null,
      page: { colour: null, links: { commit: null, file: null } },
      notifications: [],
      store: { kind: 'lowdb', directory: join(directory, 'state') },
      replica: { name: expect.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/), address: null, leaseSeconds: 10 },
      execution: {
        concurrency: 50,
        retry: { attempts: 8, firstSeconds: 2, maxSeconds: 300, failedSeconds: 3600 },
        deleteBudget: { percent: 10, least: null, most: 20 },
        graceSeconds: 30,
        providers: [],
        proxied: {
          name: 'proxied',
          timeoutSeconds: 900,
          checkSeconds: 300,
          drift: 'report',
          concurrency: 50,
          retry: { attempts: 8, firstSeconds: 2, maxSeconds: 300, failedSeconds: 3600 },
        },
      },
      shutdownSeconds: 25,
      log: { level: 'info' },
      audit: null,
      files: [
        { pointer: '/api/tls/key', setting: 'api.tls.key', path: join(directory, 'server.key'), isSecret: true },
        { pointer: '/api/tls/cert', setting: 'api.tls.cert', path: join(directory, 'server.crt'), isSecret: false },
        { pointer: '/api/tls/clientCa', setting: 'api.tls.clientCa', path: join(directory, 'ca.crt'), isSecret: false },
      ],
    });
  });

  it('of a provider gets its default, "retry" key by key from execution.retry', async () => {
    const settings = await load(`${LEAST}
execution:
  concurrency: 7
  retry: { attempts: 3, firstSeconds: 1 }
  providers:
    - { name: lab, provider: simulated, retry: { attempts: 5 } }
`);
    expect(settings.execution.providers).toEqual([
      {
        name: 'lab',
        match: { kind: null, properties: {} },
        implementation: 'simulated',
        options: {
          file: join(directory, 'state', 'simulated-lab.sqlite'),
          createMs: 200,
          updateMs: 100,
          deleteMs: 100,
          checkMs: 0,
          failRate: 0,
          seed: 1,
        },
        timeoutSeconds: 600,
        checkSeconds: 300,
        drift: 'report',
        concurrency: 3,
        retry: { attempts: 5, firstSeconds: 1, maxSeconds: 300, failedSeconds: 3600 },
      },
    ]);
  });

  it.each([
    ['50', 25],
    ['3', 1],
    ['1', 1],
  ])('of a provider under a concurrency of %s is %d', async (all, ofOne) => {
    const entries = 'providers: [{ name: a, provider: simulated }, { name: b, provider: simulated, concurrency: 9 }]';
    const settings = await load(`${LEAST}\nexecution:\n  concurrency: ${all}\n  ${entries}\n`);
    expect(settings.execution.providers.map(({ concurrency }) => concurrency)).toEqual([ofOne, 9]);
  });
});

describe('mistakes in the settings', () => {
  it('are all reported, in the order of the file, with place and advice', async () => {
    const text = `api: { tls: { key: k, cert: c, clientCA: a } }
repository: { url: stacks.git, pollSeconds: 0 }
exection: {}
log: { level: inf }
shutdownSeconds: "25"
`;
    expect(await problemsOf(text)).toEqual([
      '1:32 unknown_field the field "clientCA" is not known here; did you mean "clientCa"?',
      '2:45 wrong_value "pollSeconds" is the number 0, but has to be a whole number from 1 to 86400; null',
      '3:1 unknown_field the field "exection" is not known here; did you mean "execution"?',
      expect.stringMatching(
        /^4:15 wrong_value "level" is the text "inf", but has to be one of .*; did you mean "info"\?$/,
      ),
      '5:18 wrong_type "shutdownSeconds" is the text "25", but has to be a whole number from 0 to 600; null',
    ]);
  });

  it('are lines of the message', async () => {
    await expect(load(`${LEAST}lgo: {}\n`)).rejects.toThrow(
      `The settings cannot be used:\n${file}:3:1: the field "lgo" is not known here; did you mean "log"?`,
    );
  });

  it.each([
    ['an empty file', '', /^1:1 file_empty/],
    ['a webhook without a secret', `${LEAST}webhook: { port: 9081 }\n`, /^3:10 missing_field .*"secretFile"/],
    ['invalid YAML', 'api: [', /^\d+:\d+ yaml_syntax/],
    ['a list', '- a\n', /^1:1 wrong_type the file is a list/],
    ['a duplicate key', `${LEAST}id: a\nid: b\n`, /^4:1 duplicate_key/],
    ['a name that cannot be a file name', `${LEAST}id: ../x\n`, /^3:5 wrong_value "id" is the text "\.\.\/x"/],
    ['a directory outside', LEAST.replace('git }', 'git, directory: a/../../b }'), /^2:43 wrong_value "directory"/],
    [
      'an unknown scheme',
      LEAST.replace('stacks.git', 'ftp://a/b'),
      /^2:20 wrong_value "ftp:\/\/a\/b" is not a repository/,
    ],
  ])('are reported: %s', async (_case, text, expected) => {
    const [first] = await problemsOf(text);
    expect(first).toMatch(expected);
  });

  it('include two providers of one name', async () => {
    const text = `${LEAST}execution:
  providers:
    - { name: lab, provider: simulated }
    - { name: lab, provider: simulated }
`;
    expect(await problemsOf(text)).toEqual(['6:15 duplicate_name there is another provider named "lab"; rename one']);
  });

  it('include a missing file and one that is too large', async () => {
    await expect(loadSettings(file)).rejects.toThrow(`The settings file ${file} cannot be read: it is not there`);
    await expect(load(`# ${'x'.repeat(2 ** 20)}`)).rejects.toThrow('1048576 are allowed');
  });
});

describe('a remote repository', () => {
  const USERNAME = 'TREELINE_GIT_USERNAME';
  const PASSWORD = 'TREELINE_GIT_PASSWORD';

  function at(url: string, more = ''): string {
    return LEAST.replace('stacks.git', `"${url}"${more}`);
  }

  it.each([
    'https://git.example/stacks.git',
    'http://git.example/x',
    'git@git.example:x.git',
    'ssh://git.example/x.git',
    'file:///srv/stacks.git',
  ])('is followed: %s', async (url) => {
    expect((await load(at(url))).repository.url).toBe(url);
  });

  it('over HTTP may have a password file and an authority', async () => {
    const files = ', usernameFile: user, passwordFile: /run/password, caFile: ca.pem';
    expect((await load(at('https://git.example/x', files))).repository.access).toEqual({
      username: { kind: 'file', path: join(directory, 'user') },
      password: { kind: 'file', path: '/run/password' },
      caFile: join(directory, 'ca.pem'),
    });
  });

  it('takes each secret from the environment first, and stores none', async () => {
    const files = ', usernameFile: user, passwordFile: password';
    const environment = { [USERNAME]: '', [PASSWORD]: 'very-secret' };
    const settings = await load(at('https://git.example/x', files), environment);
    expect(settings.repository.access).toEqual({
      username: { kind: 'file', path: join(directory, 'user') },
      password: { kind: 'variable', name: PASSWORD },
      caFile: null,
    });
    expect(JSON.stringify(settings)).not.toContain('very-secret');
  });

  it.each([
    'https://user:very-secret@git.example/x',
    'https://very-secret@git.example/x',
    'ssh://a:very-secret@b/x',
    'u:very-secret@host:x',
    'https://host/x?token=very-secret',
  ])('with a password in its URL is refused: %s', async (url) => {
    const problems = await settingsProblems(load(at(url)));
    expect(problems).toMatchObject([{ line: 2, column: 20, code: 'wrong_value' }]);
    expect(problems[0]?.message).toMatch(/^"(?:\w+:\/\/)?[a-z.]+[:/]\S+" is /);
    expect(JSON.stringify(problems)).not.toContain('very-secret');
    await expect(load(at(url))).rejects.toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('very-secret') }),
    );
  });

  it.each([
    [', passwordFile: p', {}],
    [', usernameFile: u', {}],
    ['', { [PASSWORD]: 'p' }],
    ['', { [USERNAME]: 'p' }],
  ])('without encryption and with a password is refused: %j %j', async (more, environment) => {
    const [problem] = await problemsOf(at('http://git.example/x', more), environment);
    expect(problem).toMatch(/^2:20 wrong_value "http:.*" would carry the password unencrypted: write https:/);
    expect(await load(at('http://localhost:3000/x', more), environment)).toMatchObject({ id: 'main' });
  });

  it.each([
    ['stacks.git', 'passwordFile', 'a local repository is read with the rights of the user'],
    ['/srv/stacks.git', 'usernameFile', 'a local repository is read with the rights of the user'],
    ['file:///srv/stacks.git', 'caFile', 'a local repository is read with the rights of the user'],
    ['git@git.example:x.git', 'passwordFile', 'ssh takes keys and known hosts from ~/.ssh'],
    ['http://localhost/x.git', 'caFile', 'leave it out, or write https://'],
  ])('and keys without effect on it are refused: %s and %s', async (url, key, advice) => {
    const [problem] = await problemsOf(at(url, `, ${key}: f`));
    expect(problem).toMatch(new RegExp(`^2:\\d+ no_effect "${key}" has no effect on a repository with this "url"; `));
    expect(problem).toContain(advice);
  });

  it('ignores the variables of another kind of repository', async () => {
    expect((await load(LEAST, { [PASSWORD]: 'p' })).repository.url).toBe(join(directory, 'stacks.git'));
  });
});

describe('signatures', () => {
  const PROGRAMS = { PATH: process.env.PATH ?? '' };
  const signing = (fields: string): string => LEAST.replace('stacks.git', `stacks.git, ${fields}`);

  it('use files relative to the settings', async () => {
    const text = signing('verify: { allowedSigners: signers, keyring: keys }, sign: { sshKeyFile: key }');
    expect((await load(text, PROGRAMS)).repository).toMatchObject({
      verify: { allowedSigners: join(directory, 'signers'), keyring: join(directory, 'keys') },
      sign: { sshKeyFile: join(directory, 'key') },
    });
    const keyring = signing('verify: { keyring: keys }, writes: propose');
    expect((await load(keyring, PROGRAMS)).repository.verify).toMatchObject({ allowedSigners: null });
  });

  it.each([
    ['verify: { allowedSigners: a }'],
    ['verify: { keyring: k }'],
    ['verify: { keyring: k }, sign: { sshKeyFile: key }'],
  ])('need commits of writes that have one: %s', async (fields) => {
    expect(await problemsOf(signing(fields), PROGRAMS)).toEqual([
      expect.stringMatching(
        /^2:40 wrong_value the commits of the REST interface would not be followed: .*; add "sign:"/,
      ),
    ]);
  });

  it.each([
    ['verify: { allowedSigners: a }, writes: off', '2:58', 'ssh-keygen', 'openssh-client'],
    ['verify: { keyring: k }, writes: off', '2:51', 'gpg', 'gpg'],
    ['sign: { sshKeyFile: key }', '2:52', 'ssh-keygen', 'openssh-client'],
  ])('need programs: %s', async (fields, place, program, name) => {
    expect(await problemsOf(signing(fields), { PATH: directory })).toEqual([
      `${place} no_program this needs the program "${program}", which is not in the PATH of this process; install it: on Debian, the package ${name}`,
    ]);
  });

  it('need a file', async () => {
    expect(await problemsOf(signing('verify: {}'), PROGRAMS)).toEqual([
      '2:40 wrong_value "verify" is a map, but has to name "allowedSigners", "keyring" or both; null',
    ]);
  });
});

describe('a provider that runs a program', () => {
  const entry = (fields: string): string =>
    `${LEAST}execution: { providers: [{ name: a, provider: exec, ${fields} }] }\n`;

  function program(name: string, mode = 0o755): string {
    const path = join(directory, name);
    writeFileSync(path, '#!/bin/sh\n', { mode });
    return path;
  }

  it('has a path relative to the file, arguments and an environment as written', async () => {
    const path = program('lab-server');
    const { execution } = await load(entry('command: [./lab-server, ./x, "$(y)"], environment: { LAB: "1" }'), {
      HOME: '/',
    });
    expect(execution.providers[0]).toMatchObject({
      implementation: 'exec',
      command: [path, './x', '$(y)'],
      directory,
      environment: { LAB: '1' },
      timeoutSeconds: 600,
    });
  });

  it('is found on the PATH if its name has no slash', async () => {
    const path = program('lab-server');
    program('other', 0o644);
    const found = await load(entry('command: [lab-server]'), { PATH: `/nowhere:${directory}` });
    expect(found.execution.providers[0]).toMatchObject({ command: [path] });
    const [missing] = await problemsOf(entry('command: [other]'), { PATH: directory });
    expect(missing).toBe(
      '3:63 no_program there is no program "other" in the PATH of this process; write its path, absolute or relative to this file: ./NAME',
    );
  });

  it.each([
    ['command: [./missing]', '3:63', 'no_program', '/missing is not there; correct the path, or install the program'],
    ['command: [./plain]', '3:63', 'no_program', '/plain may not be executed; chmod \\+x .*/plain'],
    ['command: [./]', '3:63', 'no_program', ' is not a file'],
    [
      'environment: {}',
      '3:26',
      'missing_field',
      'item 1 of "providers" lacks the field "command", needed with "provider: exec"; add "command:", or replace "provider: exec"',
    ],
    ['command: []', '3:62', 'too_short|wrong_value|wrong', 'has to be a list of texts: a program and its arguments'],
    [
      'command: [/bin/sh], options: { seed: 1 }',
      '3:73',
      'no_effect',
      '"options" has no effect with "provider: exec"; leave it out, or replace "provider: exec"',
    ],
    ['command: [/bin/sh], environment: { TREELINE_CALL: x }', '3:88', '\\w+', 'TREELINE_CALL is set by Treeline'],
    ['command: [/bin/sh], environment: { A=B: x }', '3:88', '\\w+', 'has to be a name of letters'],
  ])('is refused: %s', async (fields, place, code, words) => {
    program('plain', 0o644);
    const [first] = await problemsOf(entry(fields));
    expect(first).toMatch(new RegExp(`^${place} ${code} .*${words}`));
  });

  const MAP = '{ TOKEN: %, OTHER: x }';
  it.each([
    ['a number', '8675309', MAP],
    ['a number that changes when read', '86753098675309867530986753', MAP],
    ['a number in another spelling', '0x8675309', MAP],
    ['a truth', 'true', '{ TOKEN: %, OTHER: [] }'],
    ['a list', '[hunter2]', MAP],
    ['a list of a number', '[8675309]', MAP],
    ['a map', '{ hunter2: }', MAP],
    ['a map with a key twice', '{ "hunter2 x": 1, "hunter2 x": 2 }', MAP],
    ['an alias', '*hunter2', MAP],
    ['an anchor', '&hunter2 x', MAP],
    ['a tag', '!hunter2 x', MAP],
    ['a text with NUL', '"hunter2\\0"', MAP],
    ['a text that is too long', 'hunter2'.repeat(10_000), MAP],
    ['a reserved character', '@hunter2', MAP],
    ['a text instead of the map', 'TOKEN=hunter2', '%'],
    ['a list instead of the map', '[TOKEN=hunter2]', '%'],
    ['the value in a key', 'hunter2', '{ "TOKEN=%": x, "TOKEN=%": x }'],
    ['no colon', 'TOKEN=hunter2', '\n      A: b\n      %\n    x: y'],
    ['a colon', 'x: hunter2', '\n      TOKEN: %'],
  ])('with a wrong environment gets messages without its values: %s', async (_what, value, map) => {
    const start = `${LEAST}execution:\n  providers:\n  - name: a\n    provider: exec\n    command: [/bin/sh]\n`;
    const written = map.replaceAll('%', () => value);
    // What is only a warning is told with an error.
    const problems = await problemsOf(`${start}    environment: ${written}\n    wrong: 1\n`);
    const words = value.match(/hunter2|\d{4,}/)?.[0] ?? value;
    expect(problems.length).toBeGreaterThan(0);
    expect(problems.join('\n')).not.toContain(words === 'true' ? 'is true' : words);
  });

  it('with a value of its environment that is no text gets advice', async () => {
    const problems = await problemsOf(entry('command: [/bin/sh], environment: { TOKEN: 8675309 }'));
    expect(problems).toEqual([
      '3:95 wrong_type the value of "TOKEN" has to be a text of up to 65,536 characters; it is not shown, since it may be a secret; put it in quotes',
    ]);
  });

  it('has keys that a simulated one does not have', async () => {
    const problems = await problemsOf(
      entry('command: [x], environment: {}').replace('provider: exec', 'provider: simulated'),
    );
    expect(problems).toEqual([
      '3:58 no_effect "command" has no effect with "provider: simulated"; leave it out, or replace "provider: simulated"',
      '3:72 no_effect "environment" has no effect with "provider: simulated"; leave it out, or replace "provider: simulated"',
    ]);
  });
});

describe('a provider that asks a service', () => {
  const entry = (fields: string): string =>
    `${LEAST}execution: { providers: [{ name: a, provider: http, ${fields} }] }\n`;

  it('has an address, a secret and optional authorities', async () => {
    const { execution } = await load(entry('url: "https://lab.example/calls", secretFile: lab-secret, caFile: ca.crt'));
    expect(execution.providers[0]).toMatchObject({
      implementation: 'http',
      url: 'https://lab.example/calls',
      secretFile: join(directory, 'lab-secret'),
      caFile: join(directory, 'ca.crt'),
    });
    const local = await load(entry('url: "http://127.0.0.1:8080/", secretFile: s'));
    expect(local.execution.providers[0]).toMatchObject({ url: 'http://127.0.0.1:8080/', caFile: null });
  });

  it.each([
    ['url: "https://x/"', 'lacks the field "secretFile", needed with "provider: http"; add "secretFile:", or'],
    ['secretFile: s', 'lacks the field "url", needed with "provider: http"; add "url:", or'],
    ['url: "http://lab.example/", secretFile: s', 'wrong_value records would go to "lab.example" unencrypted'],
    ['url: "ftp://x/", secretFile: s', 'wrong_value this cannot be the address of a service; write https://HOST/PATH'],
    ['url: "https://me:hunter2@x/", secretFile: s', 'wrong_value the address of a service has no user, no password'],
    [
      'url: "https://x/", secretFile: s, command: [x]',
      'no_effect "command" has no effect with "provider: http"; leave it out',
    ],
  ])('is refused: %s', async (fields, words) => {
    const problems = await problemsOf(entry(fields));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(words);
    expect(problems[0]).not.toContain('hunter2');
  });

  it('is refused for a missing secret and a wrong address at the same time', async () => {
    expect(await problemsOf(entry('url: "http://lab.example/"'))).toEqual([
      expect.stringContaining('lacks the field "secretFile"'),
      expect.stringContaining('records would go to "lab.example" unencrypted'),
    ]);
  });
});

describe('a store in PostgreSQL', () => {
  const URL = 'postgres://treeline:hunter2@db.example:5433/stacks';

  it('has its URL in the environment, in a file or in the settings', async () => {
    const inside = await load(`${LEAST}store: { kind: postgres, url: "${URL}", caFile: ca.pem, poolSize: 9 }\n`);
    expect(inside.store).toEqual({
      kind: 'postgres',
      directory: join(directory, 'state'),
      url: { kind: 'settings', url: URL, file },
      caFile: join(directory, 'ca.pem'),
      poolSize: 9,
    });
    const text = `${LEAST}store: { kind: postgres, urlFile: database-url, directory: own }\n`;
    expect((await load(text)).store).toEqual({
      kind: 'postgres',
      directory: join(directory, 'own'),
      url: { kind: 'file', path: join(directory, 'database-url') },
      caFile: null,
      poolSize: 4,
    });
    const variable = { url: { kind: 'variable', name: 'TREELINE_STORE_URL' } };
    expect((await load(text, { TREELINE_STORE_URL: URL })).store).toMatchObject(variable);
    expect((await load(LEAST, { TREELINE_STORE_URL: URL })).store).toMatchObject({ kind: 'postgres', ...variable });
    expect((await load(LEAST, { TREELINE_STORE_URL: '' })).store).toMatchObject({ kind: 'lowdb' });
  });

  it('has replicas with names', async () => {
    const { replica } = await load(`${LEAST}replica: { name: host-1.example, leaseSeconds: 30 }\n`);
    expect(replica).toEqual({ name: 'host-1.example', address: null, leaseSeconds: 30 });
  });

  it.each([
    ['store: { kind: postgres }', {}, '3:8 missing_field a store "postgres" needs the field "urlFile"; add "urlFile:"'],
    [
      `store: { kind: postgres, url: "${URL}", urlFile: x }`,
      {},
      'no_effect a store "postgres" has "url" or "urlFile", not both; leave one of them out',
    ],
    [
      `store: { url: "${URL}" }`,
      {},
      '3:10 no_effect "url" has no effect on a store "lowdb"; leave it out, or write kind: postgres',
    ],
    ['store: { poolSize: 5 }', {}, '3:10 no_effect "poolSize" has no effect on a store "lowdb"'],
    [
      'store: { kind: lowdb }',
      { TREELINE_STORE_URL: URL },
      '3:16 no_effect the environment variable TREELINE_STORE_URL has no effect on a store "lowdb"; unset it, or write',
    ],
    [
      `store: { kind: postgres, url: "${URL}?sslmode=disable", caFile: x }`,
      {},
      'no_effect the URL of the database has sslmode=disable, so "caFile" has no effect',
    ],
    [
      'store: { kind: postgres, url: "mysql://me:hunter2@db/x" }',
      {},
      '3:31 wrong_value The URL of the database is none: it must be postgres://user:password@host:5432/database',
    ],
    [
      `store: { kind: postgres, url: "${URL}?sslmode=prefer" }`,
      {},
      'wrong_value The URL of the database has another sslmode than verify-full and disable',
    ],
    [
      '',
      { TREELINE_STORE_URL: 'postgres://me:12?hunter2@db' },
      '1:1 wrong_value the environment variable TREELINE_STORE_URL: The URL of the database has other parameters than sslmode and host:',
    ],
    ['store: postgres://me:hunter2@db/x', {}, '"store" is the text …'],
    ['store: { kind: postgres, url: [hunter2] }', {}, '3:31 wrong_type the URL of the database has to be a text'],
    [
      'store: { kind: postgres, url: "postgres://hunter2 }',
      {},
      'yaml_syntax this is not YAML; it is not shown, since it may be a secret',
    ],
    ['store: { kind: postgres, urlFile: x, poolSize: 1 }', {}, 'wrong_value "poolSize" is the number 1, but has to be'],
    ['replica: { name: "a b" }', {}, 'wrong_value "name" is the text "a b", but has to be at most 63 letters'],
    ['replica: { leaseSeconds: 1 }', {}, 'wrong_value "leaseSeconds" is the number 1, but has to be'],
  ])('is refused: %s', async (line, environment, words) => {
    const problems = await problemsOf(`${LEAST}${line}\n`, environment as Record<string, string>);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(words);
    expect(problems[0]).not.toContain('hunter2');
  });
});

describe('the dashboard', () => {
  it.each(['0.0.0.0', '::', '10.0.0.5', 'treeline.example.org'])('is refused if others can reach %s', async (host) => {
    const [first, ...others] = await problemsOf(`${LEAST}management: { dashboard: true, host: "${host}" }\n`);
    expect(first).toMatch(
      `3:26 wrong_value the dashboard needs no certificate, and "${host}" can be reached from other machines`,
    );
    expect(others).toEqual([]);
  });

  it.each(['127.0.0.1', '127.0.0.5', '::1', 'localhost'])('is served on %s', async (host) => {
    const { management } = await load(`${LEAST}management: { dashboard: true, host: "${host}" }\n`);
    expect(management).toMatchObject({ host, dashboard: true });
  });
});

describe('the schema', () => {
  it('has a description for every property', () => {
    expect(undescribed(schema, '')).toEqual([]);
  });

  it('lists the levels of the log', () => {
    expect(schema.properties.log.properties.level.enum).toEqual(LOG_LEVELS);
  });

  function undescribed(node: object, path: string): string[] {
    const own = 'type' in node && !('description' in node) ? [path] : [];
    const below = Object.entries(node).filter(([, value]) => typeof value === 'object' && value !== null);
    return [...own, ...below.flatMap(([key, value]) => undescribed(value, `${path}/${key}`))];
  }
});
