// Each alert of contrib/prometheus in Prometheus' own rule tests, which takes promtool a while. `npm run test:long`;
// test/contrib/prometheus.test.ts checks the rules, and that each has such a test.
import { expect, it } from 'vitest';
import { productPath } from '../../src/base/product-files.ts';
import { HAS_PROMETHEUS, NO_PROMETHEUS, promtool } from '../support/prometheus.ts';

const TESTS = productPath('contrib/prometheus/treeline.test.yml');

it.runIf(HAS_PROMETHEUS)(`each alert fires under its condition only${NO_PROMETHEUS}`, () => {
  expect(promtool(['test', 'rules', TESTS])).toMatchObject({ status: 0, output: expect.stringContaining('SUCCESS') });
});
