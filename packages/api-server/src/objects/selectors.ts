import { badRequest } from './api-status.ts'
import { asString, valueAt } from './json-value.ts'
import type { KubeObject } from './kube-object.ts'
import type { ResourceDefinition } from '../resources/resource-definition.ts'

/** Decides whether an object is meant. */
export type Selector = (object: KubeObject) => boolean

type LabelTest = (labels: Readonly<Record<string, string>>) => boolean

const SET_TERM = /^(?<key>[^\s!=,()]+)\s+(?<operator>in|notin)\s*\((?<values>[^()]*)\)$/
const EQUALITY_TERM = /^(?<key>[^\s!=<>]+)\s*(?<operator>==|!=|=)\s*(?<value>[^\s!=<>]*)$/
const EXISTENCE_TERM = /^(?<negated>!?)\s*(?<key>[^\s!=<>(),]+)$/

/** Reads a label selector, for example `app=janitor,tier in (a,b),!canary`. @throws ApiStatusError 400 when it cannot be read. */
export function parseLabelSelector(text: string): Selector {
  const tests = splitTerms(text).map((term) => parseLabelTerm(term, text))
  return (object) => tests.every((test) => test(object.metadata.labels ?? {}))
}

function parseLabelTerm(term: string, whole: string): LabelTest {
  const sets = SET_TERM.exec(term)?.groups
  if (sets !== undefined) {
    const { key = '', operator, values = '' } = sets
    const wanted = new Set(values.split(',').map((each) => each.trim()))
    // A label that is absent is not in any set.
    return operator === 'in'
      ? (labels) => labels[key] !== undefined && wanted.has(labels[key])
      : (labels) => labels[key] === undefined || !wanted.has(labels[key])
  }
  const equality = EQUALITY_TERM.exec(term)?.groups
  if (equality !== undefined) {
    const { key = '', operator, value } = equality
    return operator === '!=' ? (labels) => labels[key] !== value : (labels) => labels[key] === value
  }
  const existence = EXISTENCE_TERM.exec(term)?.groups
  if (existence !== undefined) {
    const { key = '', negated } = existence
    return negated === '!' ? (labels) => !Object.hasOwn(labels, key) : (labels) => Object.hasOwn(labels, key)
  }
  throw badRequest(`unable to parse requirement: found '${term}' in label selector '${whole}'`)
}

/** Splits at the commas that are outside of parentheses. */
function splitTerms(text: string): string[] {
  return text
    .split(/,(?![^(]*\))/)
    .map((term) => term.trim())
    .filter((term) => term !== '')
}

/** A field selector, with the single name that it asks for, where it does. */
export interface FieldSelector {
  readonly matches: Selector
  readonly name: string | undefined
}

/** Reads a field selector of a resource. @throws ApiStatusError 400 for a field that the resource cannot be selected by. */
export function parseFieldSelector(text: string, definition: ResourceDefinition): FieldSelector {
  const terms = splitTerms(text).map((term) => parseFieldTerm(term, text))
  const tests = terms.map((term) => {
    const path = pathOf(term.field, definition)
    return (object: KubeObject) => ((asString(valueAt(object, path)) ?? '') === term.value) === term.equal
  })
  const named = terms.find((term) => term.field === 'metadata.name' && term.equal)
  return { matches: (object) => tests.every((test) => test(object)), name: named?.value }
}

/** The name that a field selector asks for: authorization counts such a list or watch as one of that object. */
export function nameInFieldSelector(text: string): string | undefined {
  return /(?:^|,)metadata\.name==?([^,]+)/.exec(text)?.[1]
}

function parseFieldTerm(term: string, whole: string): { field: string; value: string; equal: boolean } {
  const groups = /^(?<field>[^=!]+)(?<operator>==|!=|=)(?<value>.*)$/.exec(term)?.groups
  if (groups === undefined) throw badRequest(`invalid selector: '${whole}'; can't understand '${term}'`)
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
