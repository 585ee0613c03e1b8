/*
 * Which defect is planted. The bundler writes a question for each defect of the page into the sources: `isPlanted(ID)` decides there
 * between the code of production and the code with the defect.
 */
let planted: string | undefined

/** Whether the code with this defect runs. */
export function isPlanted(id: string): boolean {
  return planted === id
}

/** Plants a defect in all replicas; `undefined`: none. */
export function plant(id: string | undefined): void {
  planted = id
}
