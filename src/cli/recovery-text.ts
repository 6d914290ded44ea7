// Formats what a recovery found, for a person.
import { countOf } from '../base/wording.ts';
import type { RecoveredServers, Recovery } from '../service/answers.ts';
import { visibleLine } from './output.ts';

const NAMES_MAX = 20;
const WORDS: Readonly<Record<keyof RecoveredServers, string>> = {
  found: 'found, as recorded',
  drifted: 'found otherwise than recorded, or gone',
  waiting: 'waits for a person (adopt, retain)',
  unchecked: 'not checked yet',
  create: 'absent, to be created',
  update: 'to be updated',
  replace: 'to be replaced',
  delete: 'to be deleted',
};

/** Returns the lines of a recovery: why, until when a resume is refused, and the servers of each instance. */
export function formatRecovery({ id, reason, since, notBefore, instances }: Recovery): readonly string[] {
  const lines = [
    `recovery ${id}, since ${since}: ${visibleLine(reason)}`,
    `  until somebody types: treeline resume --recovery ${id} (from ${notBefore} on, or with --force)`,
  ];
  for (const { instance, isHeld, ...servers } of instances) {
    lines.push(`${visibleLine(instance)}${isHeld ? ', deletes and replacements are held (treeline held)' : ''}`);
    for (const [group, words] of Object.entries(WORDS)) {
      const names = servers[group as keyof RecoveredServers];
      if (names.length > 0) lines.push(`  ${words}: ${namesText(group, names)}`);
    }
  }
  return lines;
}

function namesText(group: string, names: readonly string[]): string {
  const count = countOf(names.length, 'server');
  if (group === 'found') return count;
  const left = names.length - NAMES_MAX;
  return `${names.slice(0, NAMES_MAX).map(visibleLine).join(', ')}${left > 0 ? ` and ${left} more` : ''}`;
}
