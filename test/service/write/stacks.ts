// The small stacks repository that drafts are tried on: one of everything, spelled in odd but right ways.
import type { JsonMap } from '../../../src/model/json.ts';
import type { Draft } from '../../../src/service/write/draft.ts';
import { deleteInstanceDraft, putInstanceDraft } from '../../../src/service/write/drafts.ts';
import type { TextChanges } from '../../support/text-repository.ts';

export const ADMINISTRATOR = 'A1';
export const FINGERPRINT = Array.from({ length: 32 }, () => 'AB').join(':');

export const SHOP = `# yaml-language-server: $schema=../../../schemas/stack-instance.schema.json
# The shop. Ask Ada before you change it.
description: 'The shop'   # for people

stackTemplate: web
parameters:
  # How many there are.
  count: "2"
  zone: dmz # outside
tenant: shop-team
`;

export const FILES = {
  'tree.yaml': `# Where servers can stand.
name: global
type: common
children:
  - name: production # what customers see
    type: environment
    children:
      # Outside.
      - { name: dmz, type: zone }
      - { name: inside, type: zone, description: Inside }
`,
  'stacks/templates/web.yaml': `# Web servers.
parameters:
  count: "1"   # at least
  zone: ""
resources:
  web:
    type: Platform::ResourceGroup
    properties:
      count: "<<count>>"
      resource_def:
        properties: { environment: production, zone: "<<zone>>", shape: small }
`,
  'stacks/instances/eu/shop.yaml': SHOP,
  'stacks/instances/orders.yaml': `stackTemplate: web
parameters: { zone: inside }
stackTemplateAdditions:
  resources: { web: { properties: { resource_def: { properties: { role: db } } } } }
`,
  'types/common/global.yaml': 'ntp: [a, b]\n',
  'types/environment/production.yaml': 'description: Live\nlog_level: warning\n',
  'types/zone/dmz.yaml': 'firewall: strict\n',
  'types/zone/inside.yaml':
    'name: inside\ntype: zone\nfirewall: ""\nttl: 1.50\ndns: [10.0.0.1, "10.0.0.2"]\nold: null\n',
  'types/role/db.yaml': 'port: 5432\n',
  'types/shape/small.yaml': 'cpus: 2\n',
  'types/shape/spare.yaml': '# nobody uses it\ncpus: 64\n',
  'types/clientcert/lab-db.yaml': 'zone: dmz\nenvironment: production\nrole: db\n',
  'clients/A1.yaml': `# The one who may do everything.
role: administrator
fingerprint: ${'ab'.repeat(32)}   # as openssl prints it
`,
  'clients/B2.yaml': 'serial: "0xb2"\nname: b2\nrole: proxy\ntags: [lab]\ntenant: lab-team\ndescription: In the lab\n',
} as const satisfies TextChanges;

/** Makes or replaces an instance. */
export function put(name: string, body: JsonMap): Draft {
  return putInstanceDraft(name, body, { force: true });
}

export function remove(name: string, isTerminating = false): Draft {
  return deleteInstanceDraft(name, () => isTerminating);
}
