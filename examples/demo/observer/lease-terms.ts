/** One version of the lease, as the watch delivered it. */
export interface LeaseVersion {
  /** Versions of all objects of one server are comparable. */
  readonly version: bigint
  /** Empty when nobody holds the lease, or there is none. */
  readonly holder: string
  readonly acquireTime: string | undefined
}

/** A term as the lease shows it. */
export interface ObservedTerm {
  /** The version of the write that acquired the lease. */
  readonly epoch: bigint
  readonly holder: string
  /** The first version that does not belong to the term any more. */
  readonly endVersion: bigint | undefined
  /** How it ended: freed by a write, or taken over without one. */
  readonly end: 'lasts' | 'released' | 'taken'
}

/** Derives the terms from all versions of a lease, given in ascending order. */
export function observedTerms(versions: readonly LeaseVersion[]): readonly ObservedTerm[] {
  const terms: ObservedTerm[] = []
  let previous: LeaseVersion | undefined
  for (const version of versions) {
    if (previous === undefined || !isSameTerm(previous, version)) {
      const last = terms.at(-1)
      if (last?.end === 'lasts') terms[terms.length - 1] = ended(last, version)
      if (version.holder !== '') terms.push(begun(version))
    }
    previous = version
  }
  return terms
}

/** The term in force at a version of the store. */
export function termInForce(terms: readonly ObservedTerm[], version: bigint): ObservedTerm | undefined {
  return terms.findLast(
    ({ epoch, endVersion }) => epoch <= version && (endVersion === undefined || version < endVersion),
  )
}

function isSameTerm(a: LeaseVersion, b: LeaseVersion): boolean {
  return a.holder === b.holder && a.acquireTime === b.acquireTime
}

function begun({ version, holder }: LeaseVersion): ObservedTerm {
  return { epoch: version, holder, endVersion: undefined, end: 'lasts' }
}

function ended(term: ObservedTerm, { version, holder }: LeaseVersion): ObservedTerm {
  return { ...term, endVersion: version, end: holder === '' ? 'released' : 'taken' }
}
