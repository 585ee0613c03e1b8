import { involuntaryEnd, voluntaryEnd } from './ends.ts'
import { electors, packageGraph, replicaStates } from './graphs.ts'
import { transfer } from './transfer.ts'

/** Every picture of the documents, by the name of its file in `docs/pictures`. */
export async function allPictures(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ['replica-states.svg', await replicaStates()],
    ['voluntary-end.svg', voluntaryEnd()],
    ['involuntary-end.svg', involuntaryEnd()],
    ['transfer.svg', transfer()],
    ['electors.svg', await electors()],
    ['packages.svg', await packageGraph()],
  ])
}
