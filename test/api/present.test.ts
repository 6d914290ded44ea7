// Compares the tags of answers with If-None-Match. What is sent then is in reads.test.ts.
import { expect, test } from 'vitest';
import { hasTag } from '../../src/api/present.ts';

test.each([
  [true, ['"tag"', 'W/"tag"', '"other", "tag"', '"a,b",W/"tag" , "c"', ' * ']],
  [false, ['"other", W/"another"', '"x*"', '"', '']],
])('hasTag returns %j for %j', (isThere, headers) => {
  expect(headers.map((header) => hasTag(header, '"tag"'))).toEqual(headers.map(() => isThere));
});
