// Routes of docs/rest.md, explanations. Like `/hiera`, every client may read them; what an approval would do is not active
// yet, and is shown to those only who are shown the problems of a commit in full.
import { type Request, type Response, Router } from 'express';
import type { Shares } from '../../base/shares.ts';
import type { Explainer } from '../../service/explain/explainer.ts';
import type { Reader } from '../../service/read/reader.ts';
import { writeAnswer } from '../answer.ts';
import { askerOf, clientOf, requireAllowed } from '../authenticate.ts';
import { requireRight } from '../authorize.ts';
import { only } from '../only.ts';
import { sendRead } from '../present.ts';
import { queryText } from '../query.ts';
import { keyOf } from '../reads.ts';

interface ExplainRoutes {
  readonly reader: Reader;
  readonly explainer: Explainer;
  readonly shares: Shares;
}

/** Returns the routes below `/operations/explain`. */
export function explainRoutes({ reader, explainer, shares }: ExplainRoutes): Router {
  const router = Router({ caseSensitive: true });
  router
    .route('/operations/explain/:node{/:key}')
    .all(only('GET'))
    .get(async (request: Request<{ node: string; key?: string }>, response: Response) => {
      const { node, key } = request.params;
      const digest = queryText(request, 'approval');
      if (digest !== undefined) requireRight(clientOf(request), 'read what an approval would do');
      const explains = explainer.as(clientOf(request));
      const answer = await shares.run(askerOf(request, response, keyOf(request)), async () => {
        const commit = reader.commit();
        if (digest === undefined) return { commit, answer: writeAnswer(await explains.explain(node, key)) };
        return { commit, answer: writeAnswer(await explains.explainApproval(digest, node, key)) };
      });
      requireAllowed(request);
      if (answer !== undefined) sendRead(request, response, answer);
    });
  return router;
}
