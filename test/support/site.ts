// A site for a test, gone after it. The controller itself is started by the test: in its own process by compose.ts, or in
// another one by serving-process.ts.
import { inject, onTestFinished } from 'vitest';
import type { FileChanges } from './git-repository.ts';
import { createScenarioDatabase, IS_ON_POSTGRES } from './scenario-database.ts';
import { createSiteIn, type Site } from './site-on-disk.ts';
import { temporaryDirectory } from './temporary-directory.ts';

export type { Site } from './site-on-disk.ts';

/** Of the few servers of a test, five may go without a yes. */
const EXECUTION = `  deleteBudget: { least: 5 }
  retry: { firstSeconds: 1, maxSeconds: 2, failedSeconds: 2 }
  providers:
    - { name: lab, provider: simulated, options: { createMs: 15, updateMs: 10, deleteMs: 10 } }`;

/**
 * Returns a site for the running test, whose repository has one commit: `files`, and the administrator's registration. Its store is
 * embedded, or in a database where scenario-database.ts says so.
 */
export async function createSite(files: FileChanges): Promise<Site> {
  const folder = temporaryDirectory();
  const store = IS_ON_POSTGRES
    ? await createScenarioDatabase(folder, inject('scenarioDatabase'), onTestFinished)
    : undefined;
  const options = { files, repository: ', pollSeconds: 1', execution: EXECUTION, provider: 'lab', store };
  return await createSiteIn(folder, options);
}
