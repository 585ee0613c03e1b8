/**
 * Sets of field paths, as in `managedFields`: a tree. A node is a member of the set, or an ancestor of members, or both.
 *
 * Path elements are written as in FieldsV1: `f:name` for a field, `k:{"name":"x"}` for an item identified by keys, `v:"x"`
 * for an item of a set. Sets are immutable: no function changes its arguments.
 */
import { isJsonObject, type JsonObject } from '../objects/json-value.ts'

/** A set of paths, relative to one place in the object. */
export interface FieldSet {
  /** Whether the path that leads here is itself in the set. */
  readonly member: boolean
  readonly children: ReadonlyMap<string, FieldSet>
}

/** A path of elements as in FieldsV1. */
export type FieldPath = readonly string[]

/** The set without paths. */
export const EMPTY_FIELD_SET: FieldSet = { member: false, children: new Map() }

const MEMBER: FieldSet = { member: true, children: new Map() }

/** The set of one path. */
function singleton(path: FieldPath): FieldSet {
  return path.reduceRight<FieldSet>(
    (inner, element) => ({ member: false, children: new Map([[element, inner]]) }),
    MEMBER,
  )
}

/** The set of the given paths. */
export function setOfPaths(paths: readonly FieldPath[]): FieldSet {
  return paths.reduce<FieldSet>((set, path) => union(set, singleton(path)), EMPTY_FIELD_SET)
}

/** Whether the set has no path at all. */
export function isEmpty(set: FieldSet): boolean {
  return !set.member && [...set.children.values()].every(isEmpty)
}

/** The paths that are in one set or the other. */
export function union(left: FieldSet, right: FieldSet): FieldSet {
  const children = new Map(left.children)
  for (const [element, child] of right.children) {
    const other = children.get(element)
    children.set(element, other === undefined ? child : union(other, child))
  }
  return { member: left.member || right.member, children }
}

/** The paths of `left` that are not in `right`. */
export function difference(left: FieldSet, right: FieldSet): FieldSet {
  return combine(left, right, (inLeft, inRight) => inLeft && !inRight)
}

/** The paths that are in both sets. */
export function intersection(left: FieldSet, right: FieldSet): FieldSet {
  return combine(left, right, (inLeft, inRight) => inLeft && inRight)
}

function combine(left: FieldSet, right: FieldSet, keep: (left: boolean, right: boolean) => boolean): FieldSet {
  const children = new Map<string, FieldSet>()
  for (const [element, child] of left.children) {
    const combined = combine(child, right.children.get(element) ?? EMPTY_FIELD_SET, keep)
    if (!isEmpty(combined)) children.set(element, combined)
  }
  return { member: keep(left.member, right.member), children }
}

/** All paths in the set. The members of a node come before the paths below them. */
export function pathsOf(set: FieldSet, prefix: FieldPath = []): FieldPath[] {
  const children = [...set.children].sort(([left], [right]) => (left < right ? -1 : 1))
  const here = children.filter(([, child]) => child.member).map(([element]) => [...prefix, element])
  return [...here, ...children.flatMap(([element, child]) => pathsOf(child, [...prefix, element]))]
}

/** Whether the path, or any path below it, is in the set. */
export function reaches(set: FieldSet, path: FieldPath): boolean {
  let node: FieldSet | undefined = set
  for (const element of path) node = node?.children.get(element)
  return node !== undefined && !isEmpty(node)
}

/** The set without `path` and everything below it. */
export function without(set: FieldSet, path: FieldPath): FieldSet {
  const [first, ...rest] = path
  const child = first === undefined ? undefined : set.children.get(first)
  if (first === undefined || child === undefined) return set
  const children = new Map(set.children)
  if (rest.length > 0) children.set(first, without(child, rest))
  else children.delete(first)
  return { member: set.member, children }
}

/** Formats a set as in `managedFields`. */
export function formatFieldSet(set: FieldSet): JsonObject {
  const entries = [...set.children]
    .filter(([, child]) => !isEmpty(child))
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([element, child]): [string, JsonObject] => [element, formatNode(child)])
  return Object.fromEntries(entries)
}

function formatNode(node: FieldSet): JsonObject {
  const below = formatFieldSet(node)
  return node.member && Object.keys(below).length > 0 ? { '.': {}, ...below } : below
}

/** Reads what {@link formatFieldSet} wrote. */
export function parseFieldSet(fields: JsonObject): FieldSet {
  const children = new Map<string, FieldSet>()
  for (const [element, below] of Object.entries(fields)) {
    if (element !== '.' && isJsonObject(below)) children.set(element, parseNode(below))
  }
  return { member: false, children }
}

function parseNode(fields: JsonObject): FieldSet {
  const node = parseFieldSet(fields)
  return { ...node, member: node.children.size === 0 || Object.hasOwn(fields, '.') }
}

/** Formats a path for messages: `.spec.containers[name="x"].image`. */
export function describePath(path: FieldPath): string {
  return path.map(describeElement).join('')
}

function describeElement(element: string): string {
  const content = element.slice(2)
  if (element.startsWith('f:')) return `.${content}`
  if (element.startsWith('v:')) return `[=${content}]`
  const keys = Object.entries(JSON.parse(content) as JsonObject)
  return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(',')}]`
}
