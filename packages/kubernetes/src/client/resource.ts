/** A resource of an API server: the name of a kind in paths and in authorization. */
export interface Resource {
  /** Empty for the core group. */
  readonly group: string
  /** For example `v1`. */
  readonly version: string
  /** Plural, for example `leases`. */
  readonly resource: string
}

/** Identifies one object. */
export interface ObjectReference extends Resource {
  /** Empty for an object of the cluster. */
  readonly namespace: string
  readonly name: string
}

/** All objects of a resource in a namespace, or one of them. */
export interface ObjectSelection extends Resource {
  /** Empty for objects of the cluster. */
  readonly namespace: string
  /** @default all */
  readonly name?: string | undefined
  /** Which objects, by their labels: `app=web`. @default all */
  readonly labelSelector?: string | undefined
}

/** The path of all objects of a resource in a namespace. */
export function collectionPath({ group, version, resource, namespace }: ObjectSelection): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  return namespace === '' ? `${root}/${resource}` : `${root}/namespaces/${namespace}/${resource}`
}

/** The path of one object. */
export function objectPath(reference: ObjectReference): string {
  return `${collectionPath(reference)}/${reference.name}`
}
