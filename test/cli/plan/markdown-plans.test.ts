// Reports of plans that are made from files, as a pull request would have them.
import { describe, expect, it } from 'vitest';
import { markdownReport } from '../../../src/cli/plan/markdown-report.ts';
import { planned, SHOP } from '../../plan/planned.ts';

describe('the report of a plan', () => {
  it('of one line in common says in a few lines how many of 5,000 nodes change, and which key', () => {
    const instance = 'stackTemplate: web\nparameters:\n  count: "99"\n';
    const instances = Array.from({ length: 50 }, (_, index) => [`stacks/instances/s${index}.yaml`, instance] as const);
    const { 'stacks/instances/shop.yaml': _shop, 'stacks/instances/blog.yaml': _blog, ...rest } = SHOP;
    const files = { ...rest, ...Object.fromEntries(instances) };
    const common = 'types/common/global.yaml';
    const report = markdownReport(planned({ [common]: SHOP[common].replace('info', 'debug') }, { files }));
    expect(report).toContain('### Treeline plan: 1 configuration change\n');
    expect(report).toContain('- `log`: `"info"` → `"debug"` on 5,000 nodes (`s0-db`, ');
    expect(report.length).toBeLessThan(1_000);
  });

  it('has no value of a secret, in properties and in configuration', () => {
    const instance = 'stackTemplate: web\nparameters:\n  port: "8080"\n  token: secret/other\n';
    const common = 'ntp: [a]\nlog: info\nadmin_password: secret/new\n';
    const report = markdownReport(
      planned({ 'stacks/instances/shop.yaml': instance, 'types/common/global.yaml': common }),
    );
    expect(report).toContain('  - `api_password`: changed (secret)');
    expect(report).toMatch(/^- `admin_password`: changed \(secret\) on \d+ nodes/m);
    expect(report).not.toContain('secret/');
  });

  it('names no object where a key is computed', () => {
    const named = SHOP['stacks/templates/web.yaml'].replace(
      'properties: { environment',
      'properties: { name: db, environment',
    );
    const { 'stacks/instances/blog.yaml': instance, ...files } = { ...SHOP, 'stacks/templates/web.yaml': named };
    const { 'stacks/instances/shop.yaml': _shop, ...rest } = { ...files, 'stacks/instances/old.yaml': instance };
    const moved = { 'stacks/instances/old.yaml': null, 'stacks/instances/new.yaml': instance };
    const report = markdownReport(planned(moved, { files: rest }));
    expect(report).toMatch(/^- `stackInstance`: adds `"new"`, removes `"old"` on 1 node \(`db`\)$/m);
    expect(report).not.toContain('(empty)');
  });

  it('says what is held before what is deleted, and of one server that it is left', () => {
    const instance = 'stackTemplate: web\ndeletion: retain\nparameters: { count: "2" }\n';
    const files = { ...SHOP, 'stacks/instances/wiki.yaml': instance };
    const changes = { 'stacks/instances/shop.yaml': null, 'stacks/instances/wiki.yaml': instance.replace('2', '1') };
    const report = markdownReport(planned(changes, { files, budget: 1 }));
    expect(report).toContain('4 deletes wait for an approval, with every other change of this instance: over');
    expect(report.indexOf('#### Held')).toBeLessThan(report.indexOf('#### Deletes'));
    expect(report).toContain('#### Leaves 1 server as it is\n\nNo version contains it any more, and the instance says');
  });

  it('says of a commit that leaves no client that all of it is held', () => {
    const files = { ...SHOP, 'clients/B2.yaml': 'role: proxy\n' };
    const report = markdownReport(planned({ 'clients/A1.yaml': null, 'clients/B2.yaml': null }, { files }));
    expect(report).toContain('1 access change, all of it held, 2 errors\n');
    expect(report).toContain('Nothing of the merge changes until it is approved: no client would be left');
  });

  it('says what is held, and what lets it go on', () => {
    const report = markdownReport(planned({ 'stacks/instances/shop.yaml': null }, { budget: 1 }));
    expect(report).toContain('4 deletes, 1 instance held');
    expect(report).toMatch(
      /#### Held: 1 instance\n\n.*`treeline held` after the merge.*`Treeline-Approve-Deletes: 4`\.\n\n- `shop`/,
    );
  });
});
