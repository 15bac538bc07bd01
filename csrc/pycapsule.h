/* pycapsule.h - how Arrow data crosses to Python: in capsules, whose destructor
 * is here. Only the binding includes this, where Python.h is already. */

/* cdef: begin */

/* Frees the object of fnabi_arrow_new that a PyCapsule holds. */
FNABI_API void fnabi_pycapsule_free(void* capsule);

/* cdef: end */

void fnabi_pycapsule_free(void* capsule) {
  const char* name = PyCapsule_GetName(capsule);
  fnabi_arrow_free(name, PyCapsule_GetPointer(capsule, name));
}
