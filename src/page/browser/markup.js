// Creates the elements of the page. A value in a template becomes text or an attribute, never markup.
import htm from 'htm';
import { h, render } from 'preact';

/** A template tag for elements, such as `html`<td>${text}</td>``. */
export const html = htm.bind(h);
export { render };
