import * as kubernetes from '@kubernetes/client-node'
import { parseAllDocuments } from 'yaml'
import { fullText, type Sample } from './sample.ts'

/** A field of a Kubernetes object, as the generated client describes it. */
interface Field {
  readonly baseName: string
  readonly type: string
}

/** What is wrong with a YAML block: it must parse, and an object with an `apiVersion` and a `kind` must have only known fields. */
export function yamlProblems(sample: Sample): readonly string[] {
  return parseAllDocuments(fullText(sample)).flatMap((document) => {
    if (document.errors.length > 0) return document.errors.map(({ message }) => message)
    const object: unknown = document.toJS()
    return isObject(object) && 'apiVersion' in object ? objectProblems(object) : ['The block is no Kubernetes object']
  })
}

function objectProblems(object: Readonly<Record<string, unknown>>): readonly string[] {
  const version = String(object['apiVersion']).split('/').at(-1) ?? ''
  const type = `${version.charAt(0).toUpperCase()}${version.slice(1)}${String(object['kind'])}`
  const problems = fieldsOf(type) === undefined ? [`The Kubernetes client knows no ${type}`] : []
  return [...problems, ...valueProblems(object, type, '')]
}

/** Compares a value with its type: a class of the client, an array, a map, or a scalar. */
function valueProblems(value: unknown, type: string, path: string): readonly string[] {
  const [, element] = /^Array<(.*)>$/.exec(type) ?? []
  if (element !== undefined) return listProblems(value, element, path)
  const fields = fieldsOf(type)
  if (fields !== undefined) return recordProblems(value, fields, path)
  const expected = SCALARS[type]
  return expected === undefined || expected.includes(typeof value) ? [] : [`${path}: expected a ${type}`]
}

const SCALARS: Readonly<Record<string, readonly string[]>> = {
  string: ['string'],
  number: ['number'],
  boolean: ['boolean'],
  IntOrString: ['string', 'number'],
}

function listProblems(value: unknown, element: string, path: string): readonly string[] {
  if (!Array.isArray(value)) return [`${path}: expected a list`]
  return value.flatMap((item, index) => valueProblems(item, element, `${path}[${index}]`))
}

function recordProblems(value: unknown, fields: readonly Field[], path: string): readonly string[] {
  if (!isObject(value)) return [`${path}: expected an object`]
  return Object.entries(value).flatMap(([key, item]) => {
    const field = fields.find(({ baseName }) => baseName === key)
    return field === undefined ? [`${path}.${key}: no such field`] : valueProblems(item, field.type, `${path}.${key}`)
  })
}

function fieldsOf(type: string): readonly Field[] | undefined {
  const model = (kubernetes as Readonly<Record<string, unknown>>)[type]
  if (typeof model !== 'function' || !('getAttributeTypeMap' in model)) return undefined
  return (model as unknown as { getAttributeTypeMap(): readonly Field[] }).getAttributeTypeMap()
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
