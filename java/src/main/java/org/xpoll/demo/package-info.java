/** Demos and measurements; in a jar of their own, and no part of the module's interface. */
package org.xpoll.demo;
