/** The element of the page with this id. @throws Error if it is missing, or another kind of element */
export function find(id: string): HTMLElement
export function find<T extends HTMLElement>(id: string, kind: new () => T): T
export function find(id: string, kind: new () => HTMLElement = HTMLElement): HTMLElement {
  const element = document.getElementById(id)
  if (element instanceof kind) return element
  throw new Error(`The page has no ${kind.name} with the id ${id}`)
}

/** An element with a text. */
export function withText<K extends keyof HTMLElementTagNameMap>(tag: K, text: string): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag)
  element.textContent = text
  return element
}

export function buttonOf(text: string, onClick: () => void): HTMLButtonElement {
  const button = withText('button', text)
  button.type = 'button'
  button.addEventListener('click', onClick)
  return button
}
