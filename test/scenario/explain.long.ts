// `treeline explain` and its routes on a whole controller, over real TLS and with a real repository: what is answered, and
// who may ask.
import { describe, expect, it } from 'vitest';
import type { NodeExplanation } from '../../src/model/explanation.ts';
import { treeline } from '../support/command-here.ts';
import type { Reply } from '../support/https-client.ts';
import { commandLineOptions } from '../support/server-options.ts';
import { headOf, push, type Scene, upAndDone } from './scene.ts';
import { identityOf, registrationOf } from './writing.ts';

type Role = 'administrator' | 'automation-endpoint' | 'proxy';

const GLOBAL = 'types/common/global.yaml';

/** Returns a controller where every role is registered, and `port` is set by two layers in commits of their own. */
async function upAndExplained(): Promise<Scene & { readonly first: string; readonly second: string }> {
  const scene = await upAndDone();
  const first = await headOf(scene.site);
  const second = await push(scene, { [GLOBAL]: 'description: All\nport: 8080\n' });
  for (const role of ['automation-endpoint', 'proxy'] as const) {
    expect((await scene.running.post('/clients', registrationOf(scene.site, role))).status).toBe(201);
  }
  return { ...scene, first, second };
}

function ask(
  { site, running }: Pick<Scene, 'site' | 'running'>,
  path: string,
  role: Role = 'administrator',
): Promise<Reply> {
  return running.request(path, { identity: identityOf(site, role) });
}

describe('an explanation over REST', () => {
  it('has all layers of a node, for every role, with the commit that changed each file last', async () => {
    const scene = await upAndExplained();
    const replies = await Promise.all(
      (['administrator', 'automation-endpoint', 'proxy'] as const).map((role) =>
        ask(scene, '/operations/explain/shop-web-1/port', role),
      ),
    );
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(new Set(replies.map(({ bytes }) => String(bytes))).size).toBe(1);
    const explained = replies[0]?.body as NodeExplanation;
    expect(explained.layers.map(({ type, name, status }) => `${type} ${name} ${status}`)).toEqual([
      ...['clientcert shop-web-1 present', 'clientcert shop-web-1 absent', 'clientcert shop-web-1 present'],
      ...['clientcert shop-web-1 present', 'configuration null not selected', 'role web present'],
      ...['shape null not selected', 'zone null not selected', 'location null not selected'],
      ...['environment null not selected', 'common global present'],
    ]);
    const head = await headOf(scene.site);
    expect(explained).toMatchObject({ node: 'shop-web-1', commit: head, isWanted: true });
    expect(explained.keys.port).toMatchObject({
      value: 80,
      statements: [
        { value: 80, effect: 'used', at: { file: 'types/role/web.yaml', line: 1 } },
        { value: 8080, effect: 'overridden', at: { file: GLOBAL, line: 2 } },
      ],
    });
    expect(explained.files['types/role/web.yaml']?.commit).toBe(scene.first);
    expect(explained.files[GLOBAL]?.commit).toBe(scene.second);
    expect(replies[0]?.headers).toMatchObject({ 'x-treeline-commit': head, 'cache-control': 'no-cache' });
  });
});

describe('treeline explain with --server', () => {
  it('prints all layers as the controller has them', async () => {
    const scene = await upAndExplained();
    const { code, stdout, stderr } = await treeline([
      ...['explain', 'shop-web-1', 'port'],
      ...commandLineOptions(scene.site, scene.running),
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n')).toEqual([
      'port = 80',
      '       clientcert shop-web-1  - (no such object)',
      '       properties             -',
      '       outputs                -',
      '       configuration          - (none selected)',
      `    *  role web               80                  types/role/web.yaml:1       ${scene.first.slice(0, 12)} 2027-01-15`,
      '       shape                  - (none selected)',
      '       zone                   - (none selected)',
      '       location               - (none selected)',
      '       environment            - (none selected)',
      `       common global          8080                types/common/global.yaml:2  ${scene.second.slice(0, 12)} 2027-01-15`,
      `    at commit ${(await headOf(scene.site)).slice(0, 12)}`,
      '',
    ]);
  });
});
