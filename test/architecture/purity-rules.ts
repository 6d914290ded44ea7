// Rules on purity: what the pure stages must not use, and which files may read the clock.
import { type ESTree, Visitor } from 'rolldown/utils';
import { isPure } from './import-rules.ts';
import { type Finding, type Rule, ruleOfFile } from './rule.ts';
import { folderOf, type SourceFile } from './source-file.ts';

const TIMERS = ['setTimeout', 'setInterval'];
/** Giving others a turn waits for no time, but it has no place in what is pure. */
const TURNS = ['setImmediate', 'queueMicrotask'];
const OUTSIDE = ['process', 'console', 'performance', 'crypto', 'globalThis', 'fetch', ...TIMERS, ...TURNS];
const ASKING = ['Date.now', 'Math.random', 'performance.now', 'crypto.randomUUID'];
/** These get the time and chance handed in, so that tests can say them. */
const TIMED = ['follow', 'reconcile', 'reconcile/calls', 'service'];

const pureUses = ruleOfFile({
  title: 'pure stages touch no clock, disk, log, network, chance or process',
  instead: 'take it as an argument: reconcile/, service/ and cli/ know the time and the environment',
  find: (file) => (isPure(file.path) ? usesOf(file, [...OUTSIDE, ...ASKING]) : []),
});

const timeHandedIn = ruleOfFile({
  title: 'time and chance are handed in',
  instead: 'take a Clock (src/base/clock.ts) or a function as an argument; compose.ts brings the real ones',
  find: (file) => (TIMED.includes(folderOf(file.path)) ? usesOf(file, [...TIMERS, ...ASKING]) : []),
});

/** Finds uses of global names, and of members of them (`Date.now`); also every way of asking `Date` for now. */
function usesOf(file: SourceFile, names: readonly string[]): Finding[] {
  const findings: Finding[] = [];
  const report = ({ start, end }: ESTree.Span, isForbidden: boolean): void => {
    const what = `uses ${file.text.slice(start, end).split('\n')[0]}`;
    if (isForbidden) findings.push({ path: file.path, line: file.lineOf(start), what });
  };
  new Visitor({
    MemberExpression(node) {
      if (node.object.type !== 'Identifier') return;
      const { name } = node.object;
      const member = node.property.type === 'Identifier' ? `${name}.${node.property.name}` : name;
      report(node, names.includes(name) || names.includes(member));
    },
    CallExpression(node) {
      const name = node.callee.type === 'Identifier' ? node.callee.name : '';
      report(node, name === 'Date' || names.includes(name));
    },
    NewExpression(node) {
      const isDate = node.callee.type === 'Identifier' && node.callee.name === 'Date';
      report(node, isDate && node.arguments.length === 0);
    },
  }).visit(file.program);
  return findings;
}

export const PURITY_RULES: readonly Rule[] = [pureUses, timeHandedIn];
