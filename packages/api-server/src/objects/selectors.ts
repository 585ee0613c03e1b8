import { badRequest } from './api-status.ts'
import { asString, valueAt } from './json-value.ts'
import type { KubeObject } from './kube-object.ts'
import type { ResourceDefinition } from '../resources/resource-definition.ts'

/** Tells whether a selector selects an object. */
export type Selector = (object: KubeObject) => boolean

type LabelTest = (labels: Readonly<Record<string, string>>) => boolean

const SET_TERM = /^(?<key>[^\s!=,()]+)\s+(?<operator>in|notin)\s*\((?<values>[^()]*)\)$/
const EQUALITY_TERM = /^(?<key>[^\s!=<>]+)\s*(?<operator>==|!=|=)\s*(?<value>[^\s!=<>]*)$/
const EXISTENCE_TERM = /^(?<negated>!?)\s*(?<key>[^\s!=<>(),]+)$/

/** Parses a label selector such as `app=janitor,tier in (a,b),!canary`. @throws ApiStatusError 400 when a term is malformed. */
export function parseLabelSelector(text: string): Selector {
  const tests = splitTerms(text).map((term) => parseLabelTerm(term, text))
  return (object) => tests.every((test) => test(object.metadata.labels ?? {}))
}

function parseLabelTerm(term: string, selector: string): LabelTest {
  const test = parseSetTerm(term) ?? parseEqualityTerm(term) ?? parseExistenceTerm(term)
  if (test === undefined) {
    throw badRequest(`unable to parse requirement: found '${term}' in label selector '${selector}'`)
  }
  return test
}

/** `tier in (a,b)` or `tier notin (a,b)`. An absent label is in no set. */
function parseSetTerm(term: string): LabelTest | undefined {
  const groups = SET_TERM.exec(term)?.groups
  if (groups === undefined) return undefined
  const { key = '', operator, values = '' } = groups
  const set = new Set(values.split(',').map((value) => value.trim()))
  const isInSet: LabelTest = (labels) => labels[key] !== undefined && set.has(labels[key])
  return operator === 'in' ? isInSet : (labels) => !isInSet(labels)
}

/** `app=janitor`, `app==janitor` or `app!=janitor`. An absent label differs from every value. */
function parseEqualityTerm(term: string): LabelTest | undefined {
  const groups = EQUALITY_TERM.exec(term)?.groups
  if (groups === undefined) return undefined
  const { key = '', operator, value } = groups
  return operator === '!=' ? (labels) => labels[key] !== value : (labels) => labels[key] === value
}

/** `canary` or `!canary`. */
function parseExistenceTerm(term: string): LabelTest | undefined {
  const groups = EXISTENCE_TERM.exec(term)?.groups
  if (groups === undefined) return undefined
  const { key = '', negated } = groups
  return negated === '!' ? (labels) => !Object.hasOwn(labels, key) : (labels) => Object.hasOwn(labels, key)
}

/** Splits a selector at the commas outside parentheses. */
function splitTerms(text: string): string[] {
  return text
    .split(/,(?![^(]*\))/)
    .map((term) => term.trim())
    .filter((term) => term !== '')
}

/** A parsed field selector. */
export interface FieldSelector {
  readonly matches: Selector
  /** The value that `metadata.name` must equal; `undefined` if the selector does not restrict it to one. */
  readonly name: string | undefined
}

/** Parses a field selector. @throws ApiStatusError 400 when a term is malformed, or the resource has no such selectable field. */
export function parseFieldSelector(text: string, definition: ResourceDefinition): FieldSelector {
  const terms = splitTerms(text).map((term) => parseFieldTerm(term, text))
  const tests = terms.map((term) => {
    const path = pathOf(term.field, definition)
    return (object: KubeObject) => ((asString(valueAt(object, path)) ?? '') === term.value) === term.equal
  })
  const named = terms.find((term) => term.field === 'metadata.name' && term.equal)
  return { matches: (object) => tests.every((test) => test(object)), name: named?.value }
}

/** The object name that a field selector requires. Authorization treats such a list or watch as a request for that object. */
export function nameInFieldSelector(text: string): string | undefined {
  return /(?:^|,)metadata\.name==?([^,]+)/.exec(text)?.[1]
}

function parseFieldTerm(term: string, selector: string): { field: string; value: string; equal: boolean } {
  const groups = /^(?<field>[^=!]+)(?<operator>==|!=|=)(?<value>.*)$/.exec(term)?.groups
  if (groups === undefined) throw badRequest(`invalid selector: '${selector}'; can't understand '${term}'`)
  const { field = '', operator, value = '' } = groups
  return { field, value, equal: operator !== '!=' }
}

function pathOf(field: string, definition: ResourceDefinition): string {
  if (field === 'metadata.name' || (field === 'metadata.namespace' && definition.namespaced)) return field
  const path = Object.hasOwn(definition.fieldSelectors, field) ? definition.fieldSelectors[field] : undefined
  if (path === undefined) throw badRequest(unknownField(field, definition))
  return path
}

function unknownField(field: string, definition: ResourceDefinition): string {
  if (Object.keys(definition.fieldSelectors).length > 0) return `field label not supported: ${field}`
  return `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`
}
