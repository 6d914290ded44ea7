import { describe, expect, test } from 'vitest';
import { type AmendedTemplate, amendTemplate, templateAsWritten } from '../../src/expand/amend-template.ts';
import { emptyMap, type JsonMap } from '../../src/model/json.ts';
import { describeProblems, instanceEntry, templateEntry } from '../support/entries.ts';

const TEMPLATE = templateEntry(`
parameters: { zone: a, size: "" }
resources:
  web:
    type: Platform::ResourceGroup
    properties:
      count: "3"
      resource_def: { properties: { role: web, zone: "<<zone>>" } }
  db:
    type: Platform::Server
    properties: { role: db, tags: [x, y] }
`);

/** Amends the parameters of a template. */
function amended(parameters: JsonMap, additions: JsonMap, substractions: JsonMap): AmendedTemplate {
  const [template, instance] = [templateEntry('resources: {}'), instanceEntry('stackTemplate: web')];
  const sections = {
    stackTemplateAdditions: { parameters: additions },
    stackTemplateSubstractions: { parameters: substractions },
  };
  return amendTemplate(
    { ...instance, object: { ...instance.object, ...sections } },
    { ...template, object: { ...template.object, parameters: parameters as never } },
  );
}

describe('additions', () => {
  test.each<[what: string, lower: JsonMap, upper: JsonMap, value: JsonMap, overridden: readonly string[]]>([
    ['nothing', { a: '1' }, {}, { a: '1' }, []],
    ['a new key', { a: '1' }, { b: '2' }, { a: '1', b: '2' }, ['/b']],
    ['another value', { a: '1' }, { a: '2' }, { a: '2' }, ['/a']],
    ['maps key by key', { a: { x: '1', y: '1' } }, { a: { y: '2' } }, { a: { x: '1', y: '2' } }, ['/a/y']],
    ['an empty map over a map', { a: { x: '1' } }, { a: {} }, { a: { x: '1' } }, []],
    ['a list replaces a list', { a: ['1', '2'] }, { a: ['3'] }, { a: ['3'] }, ['/a']],
    ['a map replaces a text', { a: '1' }, { a: { x: '2' } }, { a: { x: '2' } }, ['/a']],
    ['a text replaces a map', { a: { x: '1' } }, { a: '2' }, { a: '2' }, ['/a']],
    [
      'keys that a pointer escapes',
      { 'a/b': '1' },
      { 'a/b': '2', '~': '3' },
      { 'a/b': '2', '~': '3' },
      ['/a~1b', '/~0'],
    ],
  ])('%s', (_what, lower, upper, value, overridden) => {
    const before = structuredClone(lower);
    const { parameters, isAdded } = amended(lower, upper, {});
    expect({ ...parameters }).toEqual(value);
    expect(overridden.filter((pointer) => !isAdded(`/parameters${pointer}`))).toEqual([]);
    expect(isAdded('/parameters/a/x')).toBe(overridden.includes('/a'));
    expect(lower).toEqual(before);
  });
});

describe('substractions', () => {
  const whole = { a: { x: '1', y: ['2'] }, b: '3' };

  test.each<[what: string, named: JsonMap, value: JsonMap, removed: readonly string[]]>([
    ['nothing', {}, whole, []],
    ['{}', { b: {} }, { a: whole.a }, ['/b']],
    ['null', { b: null }, { a: whole.a }, ['/b']],
    ['""', { b: '' }, { a: whole.a }, ['/b']],
    ['true', { b: true }, { a: whole.a }, ['/b']],
    ['a nested key', { a: { x: {} } }, { a: { y: ['2'] }, b: '3' }, ['/a/x']],
    ['the last key of a map leaves the map', { a: { x: {}, y: {} } }, { a: {}, b: '3' }, ['/a/x', '/a/y']],
    ['a whole map', { a: {} }, { b: '3' }, ['/a']],
  ])('%s', (_what, named, value, removed) => {
    const before = structuredClone(whole);
    const { parameters, removedBy, problems } = amended(whole, {}, named);
    expect({ ...parameters }).toEqual(value);
    expect(removed.filter((pointer) => removedBy(`/parameters${pointer}`) === null)).toEqual([]);
    expect(problems).toEqual([]);
    expect(whole).toEqual(before);
  });

  test('does not list the keys of a map for each of 20,000 names that are not there', () => {
    const named = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`x${i}`, true]));
    let lists = 0;
    const counted = new Proxy(whole, {
      ownKeys(target) {
        lists += 1;
        return Reflect.ownKeys(target);
      },
    });
    const { parameters, problems } = amended({ counted }, {}, { counted: named, b: { deep: {} } });
    expect({ ...parameters }).toEqual({ counted: whole });
    expect(problems).toHaveLength(100);
    expect(lists).toBeLessThan(200);
  });
});

describe('a key of a user', () => {
  test.each(['__proto__', 'constructor', 'prototype', 'toString'])('%s is a key like any other', (key) => {
    const upper = emptyMap();
    upper[key] = { polluted: 'yes' };
    expect(Object.keys(amended({ a: '1' }, upper, {}).parameters)).toEqual(['a', key]);
    expect(Object.keys(amended({ a: '1' }, upper, upper).parameters)).toEqual(['a', key]);
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });
});

describe('amendTemplate', () => {
  test('applies substractions after additions', () => {
    const instance = instanceEntry(`
stackTemplate: web
stackTemplateAdditions: { parameters: { extra: "1" }, resources: { db: { properties: { role: x, more: "2" } } } }
stackTemplateSubstractions: { parameters: { extra: {} }, resources: { db: { properties: { role: {} } } } }
`);
    const { parameters, resources } = amendTemplate(instance, TEMPLATE);
    expect({ ...parameters }).toEqual({ zone: 'a', size: '' });
    expect(resources.db).toEqual({ type: 'Platform::Server', properties: { tags: ['x', 'y'], more: '2' } });
  });

  test('records the origin of each value', () => {
    const instance = instanceEntry(`
stackTemplate: web
stackTemplateAdditions:
  resources:
    db: { properties: { role: x } }
    new: { type: Platform::Server }
stackTemplateSubstractions: { resources: { web: { properties: { resource_def: { properties: { zone: {} } } } } } }
`);
    const { originOf, isAdded, removedBy } = amendTemplate(instance, TEMPLATE);
    const role = '/resources/db/properties/role';
    expect(originOf(role)).toEqual({ entry: instance, pointer: `/stackTemplateAdditions${role}` });
    expect(isAdded('/resources/new/properties/anything')).toBe(true);
    expect(originOf('/resources/db/properties/tags/0')).toEqual({
      entry: TEMPLATE,
      pointer: '/resources/db/properties/tags/0',
    });
    const zone = '/resources/web/properties/resource_def/properties/zone';
    expect(removedBy(`${zone}/0`)).toEqual({ entry: instance, pointer: `/stackTemplateSubstractions${zone}` });
    expect(removedBy(role)).toBeNull();
    expect(templateAsWritten(TEMPLATE).removedBy(zone)).toBeNull();
  });

  test('retires members of a group without removing the group', () => {
    const instance = instanceEntry(`
stackTemplate: web
stackTemplateSubstractions: { resources: { web: { index: ["2", "05"] } } }
`);
    const { retired, resources } = amendTemplate(instance, TEMPLATE);
    expect(retired.get('web')?.map(({ index }) => index)).toEqual([2, 5]);
    expect(retired.get('web')?.[1]?.origin.pointer).toBe('/stackTemplateSubstractions/resources/web/index/1');
    expect(Object.keys(resources)).toEqual(['web', 'db']);
  });

  test('reports a missing property', () => {
    const instance = instanceEntry(
      'stackTemplate: web\nstackTemplateSubstractions: { resources: { db: { properties: { colour: {} } } } }',
    );
    expect(describeProblems(amendTemplate(instance, TEMPLATE).problems)).toEqual([
      'warning shop.yaml:2:64 nothing_to_take_away: there is no "colour" to take away (remove it from stackTemplateSubstractions)',
    ]);
  });
});
