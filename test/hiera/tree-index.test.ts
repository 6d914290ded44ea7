import { expect, test } from 'vitest';
import { isTreeType, treeIndex } from '../../src/hiera/tree-index.ts';
import { node, TREE } from './build.ts';

test('names are listed once, the root is not among them', () => {
  expect(treeIndex(TREE).namesOf('zone')).toEqual(['eu-1', 'eu-2', 'dmz']);
  expect(treeIndex(TREE).namesOf('location')).toEqual(['eu', 'us']);
  expect(treeIndex(TREE).namesOf('common')).toEqual([]);
  expect(treeIndex(node('common', 'base')).namesOf('zone')).toEqual([]);
});

test('paths are listed in the order of the tree', () => {
  expect(treeIndex(TREE).pathsTo({ type: 'zone', name: 'dmz' })).toEqual(['prod/us/dmz', 'test/eu/dmz']);
  expect(treeIndex(TREE).pathsTo({ type: 'environment', name: 'eu' })).toEqual([]);
  expect(treeIndex(TREE).pathsTo({ type: 'role', name: 'eu' })).toEqual([]);
});

test('names of different types do not mix', () => {
  const tree = node('common', 'x', [node('environment', 'x', [node('location', 'x')])]);
  expect(treeIndex(tree).hasPath([{ type: 'location', name: 'x' }])).toBe(true);
  expect(treeIndex(tree).hasPath([{ type: 'zone', name: 'x' }])).toBe(false);
});

test('no step at all is a path', () => {
  expect(treeIndex(TREE).hasPath([])).toBe(true);
});

test('one tree is indexed once', () => {
  expect(treeIndex(TREE)).toBe(treeIndex(TREE));
  expect(treeIndex({ ...TREE })).not.toBe(treeIndex(TREE));
});

test('three types stand in the tree', () => {
  expect(['environment', 'location', 'zone', 'common', 'shape'].filter(isTreeType)).toEqual([
    'environment',
    'location',
    'zone',
  ]);
});
