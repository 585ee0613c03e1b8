import { ApiStatusError, badRequest, conflict, invalid } from './api-status.ts'
import { invalidValue } from './field-causes.ts'
import type { KubeObject, ObjectMeta } from './kube-object.ts'
import type { ObjectRequest } from './object-request.ts'
import { subjectOf, type ResourceDefinition } from '../resources/resource-definition.ts'
import type { ObjectRef } from '../storage/store.ts'
import { failedUidPrecondition } from './uid-precondition.ts'

/** @throws ApiStatusError 400 if the body names a different object than the path */
export function assertIdentity(metadata: ObjectMeta, request: ObjectRequest): void {
  if (metadata.name === undefined) {
    throw badRequest(`the name of the object (${request.name} based on URL) was undeterminable: name must be provided`)
  }
  if (metadata.name !== request.name) {
    const message = `the name of the object (${metadata.name}) does not match the name on the URL (${request.name})`
    throw badRequest(message)
  }
  assertNamespaceMatches(metadata, request)
}

/** @throws ApiStatusError 400 if the body names a different namespace than the path */
export function assertNamespaceMatches(metadata: ObjectMeta, { namespace, definition }: ObjectRequest): void {
  if (!definition.namespaced || metadata.namespace === undefined || metadata.namespace === namespace) return
  throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
}

/** @throws ApiStatusError 409 if the `uid` in the body is not that of the stored object */
export function assertUid(
  next: KubeObject,
  previous: KubeObject | undefined,
  ref: ObjectRef,
  definition: ResourceDefinition,
): void {
  const { uid } = next.metadata
  const present = previous?.metadata.uid ?? ''
  if (uid === undefined || uid === present) return
  throw conflict(subjectOf(definition, ref.name), failedUidPrecondition(ref, uid, present))
}

/** @throws ApiStatusError 409 if the version in the body is not the stored one, 422 if a required version is missing */
export function assertVersion(next: KubeObject, previous: KubeObject, definition: ResourceDefinition): void {
  const subject = subjectOf(definition, previous.metadata.name ?? '')
  const { resourceVersion } = next.metadata
  if (resourceVersion !== undefined && !/^\d+$/.test(resourceVersion)) {
    throw new ApiStatusError(500, '', `strconv.ParseUint: parsing ${JSON.stringify(resourceVersion)}: invalid syntax`)
  }
  if (resourceVersion === undefined || resourceVersion === '0') {
    if (definition.allowsBlindUpdate) return
    // The real server names the resource where it should name the kind.
    const cause = invalidValue('metadata.resourceVersion', 0, 'must be specified for an update')
    throw invalid({ ...subject, kind: definition.resource }, [cause])
  }
  if (resourceVersion !== previous.metadata.resourceVersion) throw conflict(subject)
}
