// Tells what answers are made of, so that an answer can be kept and sent again as long as nothing of that has changed.
import type { DesiredState } from '../desired/desired-state.ts';
import { addressOf, instanceAddress } from '../model/address.ts';
import type { AnswerSources } from '../model/answer-sources.ts';
import { isTypeName, type TypeName } from '../model/names.ts';
import { fileOfInstance } from './instance-views.ts';
import type { SourcesOfReads } from './reader.ts';
import type { PresentView } from './recorded-rows.ts';

/** The types with objects that are made of rows, too. */
const TYPES_WITH_ROWS: readonly TypeName[] = ['all', 'clientcert', 'stack-instance'];

/** Returns the sources of reads. `view` returns the present moment. */
export function sourcesOfReads(view: () => PresentView<DesiredState>): SourcesOfReads {
  return {
    instances: () => ofAllRows(view()),
    instance: (name) => ofInstance(view(), name),
    templates: () => [view().desired],
    template(name) {
      const seen = view();
      return seen.desired.catalog.templates.has(name) ? ofObject(seen, 'stack-template', name) : undefined;
    },
    objects(type) {
      const seen = view();
      if (!isTypeName(type)) return undefined;
      return TYPES_WITH_ROWS.includes(type) ? ofAllRows(seen) : [seen.desired];
    },
    object(type, name) {
      const seen = view();
      if (type === 'stack-instance') return ofInstance(seen, name);
      return type === 'clientcert' ? ofClientcert(seen, name) : ofObject(seen, type, name);
    },
    nodes: () => ofAllRows(view()),
    tree: () => [view().desired],
  };
}

function ofAllRows({ desired, rows }: PresentView<DesiredState>): AnswerSources {
  return [desired, rows.version];
}

function ofInstance(view: PresentView<DesiredState>, name: string): AnswerSources | undefined {
  const file = fileOfInstance(view, name);
  if (file === undefined) return undefined;
  return [view.desired.units.get(instanceAddress(name)), file, view.rows.index.versionOf(name)];
}

function ofObject({ desired }: PresentView<DesiredState>, type: string, name: string): AnswerSources | undefined {
  const file = desired.objects.get(addressOf(type, name));
  return file === undefined ? undefined : [file.entry];
}

function ofClientcert({ desired, rows }: PresentView<DesiredState>, name: string): AnswerSources | undefined {
  const row = rows.server(name);
  const isThere = row !== undefined || desired.objects.has(addressOf('clientcert', name));
  return isThere ? [desired, row] : undefined;
}
