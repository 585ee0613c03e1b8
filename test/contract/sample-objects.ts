/** The path of the leases of a namespace, or of one of them. */
export function leasesPath(namespace: string, name?: string): string {
  return resourcePath('/apis/coordination.k8s.io/v1', namespace, 'leases', name)
}

/** The path of the config maps of a namespace, or of one of them. */
export function configMapsPath(namespace: string, name?: string): string {
  return resourcePath('/api/v1', namespace, 'configmaps', name)
}

/** The path of a resource in a namespace, or of one object. */
export function resourcePath(version: string, namespace: string, resource: string, name?: string): string {
  const collection = `${version}/namespaces/${namespace}/${resource}`
  return name === undefined ? collection : `${collection}/${name}`
}

/** A lease with some fields of its spec. */
export function lease(name: string, spec: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name }, spec }
}

/** A config map with some data. */
export function configMap(name: string, data: Readonly<Record<string, string>> = {}): Record<string, unknown> {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data }
}
