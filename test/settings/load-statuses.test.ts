// The setting `statuses`: what is taken from the repository's URL, and what is refused.
import { describe, expect, it } from 'vitest';
import type { StatusesSettings } from '../../src/model/settings.ts';
import { loadSettings } from '../../src/settings/load-settings.ts';
import { settingsFile, settingsProblems } from '../support/settings-texts.ts';

const API = 'api: { tls: { key: server.key, cert: server.crt, clientCa: ca.crt } }\n';
const HTTPS = 'https://git.example/infra/stacks.git';

async function load(fields: string, url: string): Promise<StatusesSettings | null> {
  const text = `${API}repository: { url: "${url}", branch: live }\nstatuses: { ${fields} }\n`;
  return (await loadSettings(settingsFile(text), {})).statuses;
}

/** The problems of the setting, as `line:column code message; hint`. */
async function problemsOf(fields: string, url = HTTPS): Promise<readonly string[]> {
  const problems = await settingsProblems(load(fields, url));
  return problems.map(({ line, column, code, message, hint }) => `${line}:${column} ${code} ${message}; ${hint}`);
}

describe('the default of a setting of statuses', () => {
  it.each([
    ['github', 'https://github.com/infra/stacks.git', 'https://api.github.com', 'infra/stacks'],
    ['github', 'git@github.com:infra/stacks.git', 'https://api.github.com', 'infra/stacks'],
    ['github', 'https://ghe.example/infra/stacks', 'https://ghe.example/api/v3', 'infra/stacks'],
    ['gitlab', 'https://git.example:8443/a/b/c.git/', 'https://git.example:8443/api/v4', 'a/b/c'],
    ['gitlab', 'ssh://git@git.example:2222/a/b.git', 'https://git.example/api/v4', 'a/b'],
    ['gitea', 'git@git.example:infra/stacks', 'https://git.example/api/v1', 'infra/stacks'],
    ['gitea', 'http://localhost:3000/infra/stacks.git', 'http://localhost:3000/api/v1', 'infra/stacks'],
  ])('for %s comes from the URL %s', async (kind, url, apiUrl, project) => {
    expect(await load(`kind: ${kind}, tokenFile: token`, url)).toEqual({
      kind,
      apiUrl,
      project,
      branch: 'live',
      caFile: null,
      targetUrl: null,
      tokenFile: expect.stringMatching(/^\/.*\/token$/),
    });
  });

  it('is not used if the setting is given', async () => {
    const fields = 'kind: gitlab, apiUrl: "https://x.example/git/api/v4/", project: "42", tokenFile: t, caFile: ca.crt';
    expect(await load(`${fields}, targetUrl: "https://treeline.example/?a=b#c"`, '/srv/stacks.git')).toMatchObject({
      apiUrl: 'https://x.example/git/api/v4',
      project: '42',
      targetUrl: 'https://treeline.example/?a=b#c',
      caFile: expect.stringMatching(/^\/.*\/ca\.crt$/),
    });
  });

  it('is missing for a local repository, so the setting is required', async () => {
    expect(await problemsOf('kind: github, tokenFile: t', '/srv/stacks.git')).toEqual([
      '3:11 missing_field "apiUrl" is missing, and the "url" of the repository does not contain it; add "apiUrl:", such as https://api.github.com',
      '3:11 missing_field "project" is missing, and the "url" of the repository does not contain it; add "project:", the path of the repository at the forge',
    ]);
  });
});

describe('wrong settings of statuses', () => {
  it.each([
    ['kind: bitbucket, tokenFile: t', 'wrong_value'],
    ['kind: github', 'missing_field'],
    ['kind: github, tokenFile: t, token: abc', 'unknown_field'],
    [
      'kind: github, tokenFile: t, project: stacks',
      '3:50 wrong_value "stacks" cannot be the path of a repository at "github"; write OWNER/NAME',
    ],
    [
      'kind: github, tokenFile: t, project: a/b/c',
      'wrong_value "a/b/c" cannot be the path of a repository at "github"',
    ],
    ['kind: gitea, tokenFile: t, project: ../x', 'wrong_value "../x" cannot be the path of a repository'],
    ['kind: gitlab, tokenFile: t, project: stacks', 'write GROUP/PROJECT, or its number in quotes'],
    ['kind: gitlab, tokenFile: t, project: a/./b', 'wrong_value "a/./b" cannot be the path'],
    [
      'kind: github, tokenFile: t, apiUrl: "ftp://x"',
      'wrong_value this cannot be the address of an API; write https://HOST/PATH',
    ],
    [
      'kind: github, tokenFile: t, apiUrl: "http://ghe.example/api/v3"',
      'the token would go to "ghe.example" unencrypted',
    ],
    ['kind: github, tokenFile: t, apiUrl: "https://me:hunter2@x/"', 'the address of an API has no user, no password'],
    [
      'kind: github, tokenFile: t, apiUrl: "https://x/?token=hunter2"',
      'the address of an API has no user, no password',
    ],
    ['kind: github, tokenFile: t, targetUrl: "javascript:hunter2"', 'wrong_value this cannot be the address of a page'],
    [
      'kind: github, tokenFile: t, targetUrl: "https://me:hunter2@x/"',
      'wrong_value this cannot be the address of a page',
    ],
  ])('%s', async (fields, words) => {
    const problems = await problemsOf(fields);
    expect(problems.join('\n')).toContain(words);
    expect(problems.join('\n')).not.toContain('hunter2');
  });
});

describe('the links of the page', () => {
  const linksOf = async (url: string, fields = '', directory = '.') => {
    const text = `${API}repository: { url: "${url}", directory: "${directory}" }\npage: { ${fields} }\n`;
    return (await loadSettings(settingsFile(text), {})).page.links;
  };

  it.each([
    ['git@github.com:a/b.git', 'https://github.com/a/b/commit/{commit}', 'blob/{commit}/live/{path}#L{line}'],
    ['https://gitlab.example/a/b/c', '/a/b/c/-/commit/{commit}', '-/blob/{commit}/live/{path}#L{line}'],
    ['ssh://git@codeberg.org/a/b.git', '/a/b/commit/{commit}', 'src/commit/{commit}/live/{path}#L{line}'],
  ])('follow from the URL %s', async (url, commit, file) => {
    expect(await linksOf(url, '', 'live')).toEqual({
      commit: expect.stringContaining(commit),
      file: expect.stringContaining(file),
    });
  });

  it('are missing for other hosts, unless they are given', async () => {
    expect(await linksOf(HTTPS)).toEqual({ commit: null, file: null });
    const commit = 'https://cgit.example/stacks/commit/?id={commit}';
    expect(await linksOf(HTTPS, `links: { commit: "${commit}" }`)).toEqual({ commit, file: null });
  });

  it.each([
    ['colour: red', 'has to be a colour such as "#b3261e", in quotes'],
    ['links: { commit: "javascript:alert({commit})" }', 'has to be an address with {commit}'],
    ['links: { commit: "https://x.example/" }', 'has to be an address with {commit}'],
    ['links: { file: "https://x.example/{commit}" }', 'has to be an address with {path}'],
    ['links: { file: "https://x.example/{path}?{branch}" }', 'has to be an address with {path}'],
  ])('are refused as { %s }', async (fields, message) => {
    const [problem] = await settingsProblems(linksOf(HTTPS, fields));
    expect(problem?.message).toContain(message);
  });
});
