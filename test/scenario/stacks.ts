// A small desired state for scenarios: one template, two instances of it, a hand-written clientcert.
import type { FileChanges } from '../support/git-repository.ts';

export const TEMPLATE = 'stacks/templates/web.yaml';
export const SHOP = 'stacks/instances/shop.yaml';
export const OFFICE = 'stacks/instances/office.yaml';

/** A database, and web servers that depend on it. */
export function templateText(size = 'small'): string {
  return `parameters: { prefix: "", count: "2" }
resources:
  db: { type: Platform::Server, properties: { name: "<<prefix>>-db" } }
  web:
    type: Platform::ResourceGroup
    properties:
      count: "<<count>>"
      resource_def: { properties: { name: "<<prefix>>-web-<<index>>", size: ${size}, role: web, depends_on: db } }
`;
}

/** An instance whose servers are called after `prefix`; `more` is added at the top level. */
export function instanceText(prefix: string, count = 2, more = ''): string {
  return `stackTemplate: web\nparameters: { prefix: ${prefix}, count: "${count}" }\n${more}`;
}

export const STACKS: FileChanges = {
  'tree.yaml': 'name: global\ntype: common\n',
  'types/role/web.yaml': 'port: 80\n',
  'types/clientcert/printer.yaml': 'paper: a4\n',
  [TEMPLATE]: templateText(),
  [SHOP]: instanceText('shop'),
  [OFFICE]: instanceText('office', 1),
};

/** The servers of the desired state, sorted. */
export const SERVERS = ['office-db', 'office-web-1', 'shop-db', 'shop-web-1', 'shop-web-2'];
