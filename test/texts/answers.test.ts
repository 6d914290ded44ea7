// Compares all messages about requests with answers.txt, which is read as the client that gets them.
// `UPDATE_GOLDEN=1 npx vitest run test/texts` writes it anew.
import { readFileSync, writeFileSync } from 'node:fs';
import type { Agent } from 'node:https';
import { expect, onTestFinished, test } from 'vitest';
import type { ErrorBody } from '../../src/api/errors.ts';
import { STACKS } from '../scenario/stacks.ts';
import { identityOf, registrationOf, upAndWriting, type WritingScene } from '../scenario/writing.ts';
import { keepAll } from '../support/https-client.ts';
import { ELSEWHERE, WRONG_REQUESTS, type WrongRequest } from './wrong-requests.ts';

const GOLDEN = new URL('answers.txt', import.meta.url);
const LINE_MAX = 400;

const FILES = {
  ...STACKS,
  'tree.yaml': 'name: global\ntype: common\nchildren: [{ name: dmz, type: zone }]\n',
  'types/common/global.yaml': 'ntp: one\n',
  'types/zone/dmz.yaml': 'log: off\n',
  'types/clientcert/lab-db.yaml': 'zone: dmz\nrole: web\n',
  'hierarchy.yaml': 'secrets: { keys: ["_password$"], reference: "^secret/" }\n',
  'stacks/instances/kept.yaml': 'stackTemplate: web\nparameters: { prefix: kept, count: "0" }\nprotected: true\n',
};

async function send(
  scene: WritingScene,
  agent: Agent,
  { ask, body, headers = {}, as = 'administrator' }: WrongRequest,
) {
  const [method = '', path = ''] = ask.split(' ');
  const isRaw = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
  const sent = isRaw ? body : JSON.stringify(body);
  const { serial } = registrationOf(scene.site, 'administrator');
  const { body: answer } = await scene.running.request(path.replace('{administrator}', String(serial)), {
    method,
    identity: identityOf(scene.site, as),
    agent,
    headers: { 'Content-Type': 'application/json', ...headers },
    ...(sent === undefined ? {} : { body: sent }),
  });
  return answer as ErrorBody;
}

/** What is sent, short enough to be read. */
function written({ ask, body, headers, as }: WrongRequest): string {
  const sent = body instanceof Uint8Array ? '(bytes)' : typeof body === 'string' ? body : JSON.stringify(body);
  const more = headers === undefined ? '' : ` ${JSON.stringify(headers)}`;
  return `${ask}${sent === undefined ? '' : ` ${sent}`}${more}${as === undefined ? '' : ` as ${as}`}`.slice(0, 160);
}

/** Without what is different in every run. */
function masked(text: string): string {
  return text
    .replace(/\b[0-9A-F]{2}(?::[0-9A-F]{2}){31}\b/g, '(fingerprint)')
    .replace(/\b(?=\d*[A-F])[0-9A-F]{16,40}\b/g, '(serial)')
    .replace(/\b[0-9a-f]{40}\b/g, '(commit)')
    .slice(0, LINE_MAX);
}

test('answers.txt has every text, and every code of docs/rest.md', async () => {
  const scene = await upAndWriting(undefined, FILES);
  const agent = keepAll();
  onTestFinished(() => agent.destroy());
  const codes = new Set<string>();
  const lines: string[] = [];
  for (const [group, requests] of Object.entries(WRONG_REQUESTS)) {
    lines.push(`## ${group}`, '');
    for (const request of requests) {
      const { return_code: status, error, message, details = [] } = await send(scene, agent, request);
      codes.add(error);
      const places = details.map(({ file, line, column, pointer, message: text }) => {
        const place =
          file === undefined ? '' : `${[file, line, column].filter((part) => part !== undefined).join(':')} `;
        return `    ${place}${pointer === '' ? 'the whole' : pointer}: ${text}`;
      });
      lines.push(...[`# ${written(request)}`, `${status} ${error}: ${message}`, ...places].map(masked), '');
    }
  }
  const text = lines.join('\n');
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(GOLDEN, text);
  expect(text).toBe(readFileSync(GOLDEN, 'utf8'));
  const documented = readFileSync('docs/rest.md', 'utf8').match(/(?<=^\| [45]\d\d \| `)[a-z_]+(?=` \|)/gm) ?? [];
  expect(documented.filter((code) => !codes.has(code) && !(code in ELSEWHERE))).toEqual([]);
});
