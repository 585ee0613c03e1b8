import type { JsonObject } from '../objects/json-value.ts'
import type { KubeObject } from '../objects/kube-object.ts'
import { served } from '../objects/object-encoding.ts'
import type { ResourceDefinition } from '../resources/resource-definition.ts'
import { builtInColumns } from './built-in-columns.ts'
import { defaultColumns, type TableColumn } from './table-column.ts'

/** How much of its object each row includes: the query parameter `includeObject`. */
export type IncludeObject = 'None' | 'Metadata' | 'Object'

/** How to build a table. */
export interface TableOptions {
  readonly includeObject: IncludeObject
  /** Milliseconds since the Unix epoch. */
  readonly now: number
  /** Whether to name the columns. A watch names them once. */
  readonly withColumns: boolean
}

/** The table that `kubectl get` asks for. Takes objects in their stored form. */
export function tableOf(
  definition: ResourceDefinition,
  { items, metadata }: { readonly items: readonly KubeObject[]; readonly metadata: JsonObject },
  options: TableOptions,
): JsonObject {
  const columns = columnsOf(definition)
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: options.withColumns ? columns.map(describeColumn) : [],
    rows: items.map((object) => ({
      cells: columns.map(({ cell }) => cell(object, options.now)),
      object: objectOf(definition, object, options.includeObject),
    })),
  }
}

function columnsOf(definition: ResourceDefinition): readonly TableColumn[] {
  return definition.columns ?? builtInColumns[definition.collection] ?? defaultColumns
}

function describeColumn({ name, type, format, priority }: TableColumn): JsonObject {
  return { name, type, format, description: '', priority }
}

function objectOf(definition: ResourceDefinition, object: KubeObject, include: IncludeObject): JsonObject | null {
  if (include === 'None') return null
  return include === 'Object' ? served(definition, object) : metadataOf(object)
}

/** The `PartialObjectMetadata` of an object. */
export function metadataOf({ metadata }: KubeObject): JsonObject {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata }
}
