import { accessReviewResources } from './access-review-resources.ts'
import type { CoordinationSettings } from '../coordination/coordination-settings.ts'
import { coordinationResources } from './coordination-resources.ts'
import { coreResources } from './core-resources.ts'
import { customResourceDefinitions } from './custom-resources.ts'
import { endpointSliceResource } from './endpoint-slice-resource.ts'
import { eventResources } from './event-resources.ts'
import { pageNotFound, unknownResource, type HttpAnswer } from '../http/http-answer.ts'
import { rbacResources } from './rbac-resources.ts'
import { serviceResource } from './service-resource.ts'
import { workloadResources } from './workload-resources.ts'
import { apiVersionOf, type ResourceDefinition } from './resource-definition.ts'

/** A group of the API with its versions, the preferred one first. */
export interface ApiGroup {
  readonly name: string
  readonly versions: readonly string[]
}

/** The served resources: the built-in ones, and those of custom resource definitions. */
export class ResourceCatalog {
  readonly #byPath = new Map<string, ResourceDefinition>()

  constructor(coordination: CoordinationSettings) {
    for (const each of [
      ...coreResources,
      serviceResource,
      endpointSliceResource,
      ...coordinationResources(coordination),
      ...eventResources,
      ...rbacResources,
      ...workloadResources,
      ...accessReviewResources,
      customResourceDefinitions,
    ])
      this.add(each)
  }

  /** Serves a resource. Replaces a resource with the same path. */
  add(definition: ResourceDefinition): void {
    this.#byPath.set(pathOf(definition.group, definition.version, definition.resource), definition)
  }

  /** Stops serving all versions of the resource stored in `collection`. */
  remove(collection: string): void {
    for (const [path, definition] of this.#byPath) if (definition.collection === collection) this.#byPath.delete(path)
  }

  /** The resource under a path. */
  find(group: string, version: string, resource: string): ResourceDefinition | undefined {
    return this.#byPath.get(pathOf(group, version, resource))
  }

  /** The 404 answer for an unknown resource. As on the real server, it depends on whether the version has built-in resources. */
  answerUnknown(group: string, version: string): HttpAnswer {
    const isBuiltIn = this.resourcesOf(group, version).some((each) => !each.isCustom)
    return isBuiltIn ? unknownResource() : pageNotFound()
  }

  /** All groups except the core group. */
  groups(): ApiGroup[] {
    const groups = new Map<string, Set<string>>()
    for (const { group, version } of this.#byPath.values()) {
      if (group !== '') groups.set(group, (groups.get(group) ?? new Set()).add(version))
    }
    return [...groups].map(([name, versions]) => ({ name, versions: [...versions].sort(byPreference) }))
  }

  /** The resources of one version of a group. */
  resourcesOf(group: string, version: string): ResourceDefinition[] {
    return [...this.#byPath.values()].filter((each) => each.group === group && each.version === version)
  }

  /** All served resources. */
  all(): ResourceDefinition[] {
    return [...this.#byPath.values()]
  }

  /** All served group versions, such as `coordination.k8s.io/v1`. */
  apiVersions(): Set<string> {
    return new Set([...this.#byPath.values()].map(apiVersionOf))
  }
}

function pathOf(group: string, version: string, resource: string): string {
  return `${group}/${version}/${resource}`
}

const VERSION = /^v(?<major>\d+)(?:(?<stage>alpha|beta)(?<minor>\d+))?$/

/** Stable before beta before alpha, newer before older, as Kubernetes sorts versions. */
function byPreference(left: string, right: string): number {
  const [a, b] = [rankOf(left), rankOf(right)]
  return b.stage - a.stage || b.major - a.major || b.minor - a.minor
}

function rankOf(version: string): { stage: number; major: number; minor: number } {
  const groups = VERSION.exec(version)?.groups
  if (groups === undefined) return { stage: -1, major: 0, minor: 0 }
  const stage = groups['stage'] === undefined ? 2 : groups['stage'] === 'beta' ? 1 : 0
  return { stage, major: Number(groups['major']), minor: Number(groups['minor'] ?? 0) }
}
