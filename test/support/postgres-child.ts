// A second process on a database: adds one to a row so many times, each with an event.
import { openPostgresStore } from '../../src/store/postgres/postgres-adapter.ts';
import { addOnes } from './add-ones.ts';

const [url = '', count = '0'] = process.argv.slice(2);
const store = await openPostgresStore({ url });
await addOnes(store, Number(count));
await store.close();
