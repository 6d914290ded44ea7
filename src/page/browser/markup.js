// Makes the elements of the page. Whatever is in a hole of a template becomes text or an attribute, never markup.
import htm from 'htm';
import { h, render } from 'preact';

/** A template tag for elements, as in `html`<td>${text}</td>``. */
export const html = htm.bind(h);
export { render };
