// The parts of the controller that routes answer from, and take what clients ask for to.
import type { Shares } from '../../base/shares.ts';
import type { PageSettings } from '../../model/settings.ts';
import type { Explainer } from '../../service/explain/explainer.ts';
import type { Operator } from '../../service/operate/operator.ts';
import type { Reader } from '../../service/read/reader.ts';
import type { Writer } from '../../service/write/writer.ts';
import type { AnswerCache } from '../reads.ts';

/** The controller, and what the page shows of its environment; the same of every replica. */
export interface ControllerFacts {
  readonly id: string;
  readonly version: string;
  readonly page: PageSettings;
}

/** What the routes of one application share. */
export interface RouteParts {
  readonly reader: Reader;
  readonly writer: Writer;
  readonly operator: Operator;
  readonly explainer: Explainer;
  readonly controller: ControllerFacts;
  readonly cache: AnswerCache;
  /** Of answers that take long or ask git. */
  readonly lists: Shares;
}
