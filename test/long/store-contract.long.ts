// The contract of a store on the embedded one where it does everything in many steps, and where it changes nothing in place.
// `npm run test:long`; test/store/lowdb-store.test.ts runs it on the store as a controller opens it, and tests each by itself.
import { describeStore } from '../contract/store.ts';
import { pausingSlices } from '../support/pausing-slices.ts';
import { storePlace } from '../support/store-place.ts';

describeStore('lowdb, with a pause after every step of work', async () => storePlace({ inSlices: pausingSlices() }));
describeStore('lowdb, with tables that every commit replaces', async () => storePlace({ changedInPlace: 0 }));
